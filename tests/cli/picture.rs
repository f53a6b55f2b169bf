//! The picture in the README is what `bumpwright demo` prints. `BLESS=1` draws it again.

use std::path::Path;

use anstyle_svg::{Term, WIN10_CONSOLE};
use bumpwright_testkit::cli::Bench;

/// Columns of the picture; longer lines end in `…`, as a pager cuts them.
const COLUMNS: usize = 118;

/// What the demo prints of the real run, with its command line.
fn printed() -> String {
    let bench = Bench::new();
    let folder = bench.path("demo").canonicalize().unwrap_or_else(|_| bench.path("demo"));
    let mut command = bench.command(&["demo", "--keep", &folder.display().to_string()]);
    let ran = bumpwright_testkit::cli::ran(
        command
            .env_remove("NO_COLOR")
            .env("CLICOLOR_FORCE", "1")
            .output()
            .unwrap(),
    );
    let start = ran.out.find("$ bumpwright update").unwrap();
    let run = start + 1 + ran.out[start + 1..].find("$ bumpwright update").unwrap();
    let end = run + ran.out[run..].find("\n\n$ git log").unwrap();
    ran.out[run..end]
        .replace(&folder.display().to_string(), "/tmp/demo")
        .lines()
        .map(|line| cut(line) + "\n")
        .collect()
}

/// The line in so many columns; escape sequences take none.
fn cut(line: &str) -> String {
    let mut columns = 0;
    let mut escape = false;
    let mut out = String::new();
    for c in line.chars() {
        match (escape, c) {
            (false, '\x1b') => escape = true,
            (false, _) => columns += 1,
            (true, 'm') => escape = false,
            (true, _) => {}
        }
        if columns == COLUMNS {
            return out + "…\x1b[0m";
        }
        out.push(c);
    }
    out
}

/// Commits have the time in them, so their hashes are other ones each time.
fn without_hashes(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() {
            word.push(c);
            continue;
        }
        let hash = matches!(word.len(), 12 | 40) && word.bytes().any(|c| c.is_ascii_digit());
        out.push_str(if hash { "HASH" } else { &word });
        out.push(c);
        word.clear();
    }
    out
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/demo.svg");
    let drawn = Term::new().palette(WIN10_CONSOLE).render_svg(&printed());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        without_hashes(&kept),
        without_hashes(&drawn),
        "docs/demo.svg is not what the demo prints; BLESS=1 cargo test --test cli picture"
    );
    let readme = std::fs::read_to_string(path.with_file_name("../README.md")).unwrap();
    assert!(
        readme.contains("(docs/demo.svg)"),
        "README.md does not show docs/demo.svg"
    );
}
