//! The shape of the source: who may import whom, how large files and functions are, what they are called.
//!
//! `faults` is a pure function over paths and texts, with tests of its own: a checker that cannot fail checks nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, missing_docs)]

use std::path::Path;

/// A room, the rooms that it may import, and whether it may touch files, clock, environment, network, processes.
struct Room {
    name: &'static str,
    imports: &'static [&'static str],
    world: bool,
}

const fn room(name: &'static str, imports: &'static [&'static str], world: bool) -> Room {
    Room { name, imports, world }
}

const ROOMS: &[Room] = &[
    room("access", &["api", "cloud", "net", "signing"], false),
    room("api", &["cel", "gostd", "nearest", "policy", "re2"], false),
    room(
        "apply",
        &["api", "cluster", "compare", "gostd", "health", "kustomize", "re2"],
        true,
    ),
    room("artifact", &["budget", "gostd"], false),
    room(
        "automation",
        &[
            "api", "budget", "edit", "forge", "git", "gostd", "message", "policy", "signing", "template",
        ],
        true,
    ),
    room("bucket", &["cloud", "gostd", "net"], true),
    room("budget", &[], false),
    room(
        "cli",
        &[
            "access",
            "api",
            "apply",
            "automation",
            "budget",
            "cluster",
            "compare",
            "controller",
            "edit",
            "forge",
            "git",
            "gostd",
            "kustomize",
            "message",
            "migrate",
            "net",
            "observe",
            "overlay",
            "pipeline",
            "policy",
            "registry",
            "remotes",
            "render",
            "scan",
            "signing",
            "sops",
            "storage",
            "substitute",
            "template",
            "yaml",
        ],
        true,
    ),
    room("cel", &["gostd", "re2"], false),
    room("cloud", &["gostd", "net"], true),
    room("cluster", &["api", "budget", "gostd", "net", "yaml"], true),
    room(
        "controller",
        &[
            "access",
            "api",
            "apply",
            "artifact",
            "automation",
            "bucket",
            "budget",
            "cel",
            "cloud",
            "cluster",
            "compare",
            "door",
            "edit",
            "forge",
            "git",
            "gostd",
            "health",
            "keys",
            "kustomize",
            "net",
            "observe",
            "overlay",
            "pipeline",
            "policy",
            "registry",
            "remotes",
            "render",
            "scan",
            "sops",
            "source",
            "storage",
            "substitute",
            "tags",
            "verify",
            "webhook",
        ],
        true,
    ),
    room("compare", &["gostd", "yaml"], false),
    room("door", &[], false),
    room("edit", &["policy"], false),
    room("forge", &["gostd", "net"], true),
    room("git", &["budget", "net", "signing"], true),
    room("gostd", &[], false),
    room("health", &["gostd"], false),
    room("keys", &["cloud", "gostd", "net", "re2", "sops", "yaml"], true),
    room("message", &["nearest", "policy", "sprig", "template"], false),
    room("migrate", &["api", "edit"], false),
    room("nearest", &[], false),
    room("net", &["gostd"], true),
    room("observe", &["door", "gostd", "net"], true),
    room("overlay", &["budget", "gostd", "kustomize", "yaml"], false),
    room(
        "pipeline",
        &["api", "budget", "overlay", "sops", "substitute", "yaml"],
        false,
    ),
    room("policy", &["gostd", "re2"], false),
    room("re2", &["gostd"], false),
    room("registry", &["gostd", "net", "policy"], true),
    room("remotes", &["access", "api", "cloud", "forge", "git", "net"], true),
    room(
        "scan",
        &["access", "api", "cloud", "gostd", "net", "policy", "registry"],
        true,
    ),
    room("render", &["artifact", "git", "kustomize", "net"], true),
    room("signing", &["gostd", "net"], false),
    room(
        "source",
        &[
            "api", "artifact", "budget", "git", "gostd", "net", "policy", "re2", "registry", "verify",
        ],
        false,
    ),
    room("sprig", &["gostd", "policy", "re2", "template"], false),
    room("storage", &["artifact", "door", "gostd"], true),
    room("substitute", &["budget", "gostd", "yaml"], false),
    room("sops", &["gostd", "re2", "yaml"], false),
    room("storage", &["gostd"], true),
    room("tags", &[], true),
    room("template", &["gostd"], false),
    room("artifact", &["gostd"], false),
    room("verify", &[], false),
    room("webhook", &[], false),
    room("yaml", &["gostd"], false),
    room("kustomize", &["budget", "gostd", "nearest", "re2", "yaml"], false),
];

const VAGUE_NAMES: &[&str] = &["utils", "util", "helpers", "helper", "common", "misc", "types"];
const MAX_FILE_LINES: usize = 700;
const MAX_FUNCTION_LINES: usize = 100;

#[test]
fn the_source_has_its_shape() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        collect(Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(folder), &mut files);
    }
    let sources = files.iter().filter(|(path, _)| path.contains("src/")).count();
    assert!(sources > 10, "only {sources} source files found");
    let faults = faults(&files);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    println!("architecture: {} files, {} rooms", files.len(), ROOMS.len());
}

/// All Rust files below `folder`, as path from the root and text.
fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        return;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((
                path.to_str().unwrap().to_owned(),
                std::fs::read_to_string(root.join(&path)).unwrap(),
            ));
        }
    }
    files.sort();
}

/// Everything that is wrong, one sentence each.
fn faults(files: &[(String, String)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in files {
        if !text.starts_with("//!") {
            faults.push(format!("{path}:1: opens without //!"));
        }
        let names = path.trim_end_matches(".rs").split('/');
        for name in names.filter(|name| VAGUE_NAMES.contains(name)) {
            faults.push(format!("{path}: {name:?} says nothing; name what is in it"));
        }
        let of_crate = || matches!(path.split('/').nth(3), Some("tests" | "examples"));
        let is_test = path.starts_with("crates/") && of_crate();
        if path.starts_with("src/") || (path.starts_with("crates/") && !is_test) {
            source_faults(path, text, &mut faults);
        }
    }
    if let Some((path, text)) = files.iter().find(|(path, _)| path == "src/lib.rs") {
        let absent = ROOMS
            .iter()
            .filter(|room| !text.contains(&format!("[`{}`]", room.name)));
        faults.extend(absent.map(|room| format!("{path}: the table of rooms lacks {}", room.name)));
    }
    faults
}

fn source_faults(path: &str, text: &str, faults: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > MAX_FILE_LINES {
        faults.push(format!("{path}: {lines} lines, {MAX_FILE_LINES} at most"));
    }
    for (line, name, length) in functions(text) {
        if length > MAX_FUNCTION_LINES {
            faults.push(format!(
                "{path}:{line}: {name} has {length} lines, {MAX_FUNCTION_LINES} at most"
            ));
        }
    }
    // A room is a module of the library or a crate of its own, whose modules may have one level of groups.
    let (room, is_root) = match path.split('/').collect::<Vec<_>>()[..] {
        ["src", "lib.rs" | "main.rs"] => return,
        ["src", _] => return faults.push(format!("{path}: belongs into a room")),
        ["src", name, file] => (name, file == "mod.rs"),
        ["crates", _, name, "build.rs"] => (name, true),
        ["crates", _, name, "src", file] => (name, file == "lib.rs"),
        ["crates", _, name, "src", _, _] => (name, false),
        _ => {
            return faults.push(format!(
                "{path}: deeper than src/room/file.rs or crates/floor/room/src/group/file.rs"
            ));
        }
    };
    let is_crate = path.starts_with("crates/");
    let room = if room == "std" { "gostd" } else { room };
    let room = ROOMS.iter().find(|known| known.name == room);
    let Some(room) = room else {
        return faults.push(format!(
            "{path}: a room that is not in the table of tests/architecture.rs"
        ));
    };
    let code = code_only(text);
    let opts_out = code.contains("allow(clippy::disallowed_");
    if !room.world && opts_out {
        faults.push(format!(
            "{path}: {} is a pure room and cannot opt out of clippy.toml",
            room.name
        ));
    }
    let arrows = if is_crate {
        crate_imports(&code)
    } else {
        imports(&code, is_root)
    };
    for (line, target) in arrows {
        let known = ROOMS.iter().any(|other| other.name == target);
        if target != room.name && (!known || !room.imports.contains(&target.as_str())) {
            faults.push(format!("{path}:{line}: {} may not import {target}", room.name));
        }
    }
}

/// Line, name and length of each function: from `fn` to the brace that closes it at the same indentation, without the
/// rows of tables.
fn functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let Some(name) = function_name(trimmed) else { continue };
        let close = format!("{}}}", &line[..indent]);
        let length = lines[index..]
            .iter()
            .position(|line| *line == close)
            .map_or(1, |offset| offset + 1);
        // A function that ends on its own line, or a signature in a trait, has no brace of its own.
        if trimmed.ends_with(['}', ';']) {
            continue;
        }
        let rows = lines[index..index + length]
            .iter()
            .filter(|line| is_table_row(line))
            .count();
        found.push((index + 1, name.to_owned(), length - rows));
    }
    found
}

/// The name when a line of formatted code begins a function.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = ["pub", "const", "async", "unsafe", "extern", "default"];
    let starts = before.split_whitespace().all(|word| {
        qualifiers.contains(&word) || word.starts_with("pub(") || word.ends_with(')') || word.starts_with('"')
    });
    let name = after.split(['(', '<']).next()?;
    (starts && !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
}

fn is_table_row(line: &str) -> bool {
    let line = line.trim();
    let closes = ["),", "\",", "],"].iter().any(|end| line.ends_with(end));
    line.starts_with(['(', '"', '[']) && closes
}

/// Line and first segment of every path that leaves the file's room: `crate::x`, `crate::{x, y::z}`, and in a room's
/// `mod.rs` also `super::x`.
fn imports(code: &str, is_mod: bool) -> Vec<(usize, String)> {
    let roots: &[&str] = if is_mod {
        &["crate::", "super::", "bumpwright::"]
    } else {
        &["crate::", "bumpwright::", "super::super::"]
    };
    let tests_at = code.find("mod tests {").unwrap_or(code.len());
    let mut found = Vec::new();
    for root in roots {
        for (at, _) in code.match_indices(root) {
            let whole_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
            // Inside an inline test module `super` is the file itself.
            let relative_in_tests = root.starts_with("super") && at > tests_at;
            if !whole_word || relative_in_tests {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let after = code[at + root.len()..].trim_start();
            found.extend(first_segments(after).into_iter().map(|segment| (line, segment)));
        }
    }
    found
}

/// Line and name of every other room that a crate of its own names, as `bumpwright_room::`.
fn crate_imports(code: &str) -> Vec<(usize, String)> {
    code.match_indices("bumpwright_")
        .map(|(at, prefix)| {
            let name = code[at + prefix.len()..].split(|c: char| !c.is_alphanumeric());
            (code[..at].matches('\n').count() + 1, name.take(1).collect())
        })
        .collect()
}

fn first_segments(path: &str) -> Vec<String> {
    let word = |text: &str| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*'))
            .next()
            .unwrap_or("")
            .to_owned()
    };
    let Some(group) = path.strip_prefix('{') else {
        return vec![word(path)];
    };
    let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
        .into_iter()
        .map(|part| word(part.trim_start()))
        .filter(|part| !part.is_empty())
        .collect()
}

/// The text with comments and the insides of strings blanked, line breaks kept.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string_length(rest),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw_string_length(rest),
            '\'' => char_length(rest),
            _ => 0,
        };
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    code
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of `r"…"` or `r#"…"#` at the start of the text; 0 when there is none.
fn raw_string_length(text: &str) -> usize {
    let after = &text[1..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    if !after[hashes..].starts_with('"') {
        return 0;
    }
    let open = 1 + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    text[open..]
        .find(&close)
        .map_or(text.len(), |end| open + end + close.len())
}

/// Length of a character literal at the start of the text; 0 for a lifetime.
fn char_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[2..]
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '\'')
            .map_or(0, |(at, _)| at + 3),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

mod checker {
    use super::*;

    fn check(path: &str, text: &str) -> Vec<String> {
        faults(&[(path.to_owned(), format!("//! Doc.\n{text}"))])
    }

    #[test]
    fn accepts_the_arrows_of_the_table() {
        let text = "use crate::{policy::Name, api::{A, B}};\nuse super::plan::X;\nfn f() { crate::git::push(); }\n";
        assert_eq!(check("src/cli/args.rs", text), Vec::<String>::new());
        assert_eq!(
            check("src/edit/scan.rs", "use crate::policy::Name;\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn refuses_other_arrows() {
        for (path, text, fault) in [
            (
                "src/policy/a.rs",
                "use crate::edit::X;",
                "src/policy/a.rs:2: policy may not import edit",
            ),
            (
                "src/git/a.rs",
                "\nfn f() { crate::api::read() }",
                "src/git/a.rs:3: git may not import api",
            ),
            (
                "src/api/a.rs",
                "use crate::{policy::P, git::{A, B}};",
                "src/api/a.rs:2: api may not import git",
            ),
            (
                "src/edit/a.rs",
                "use crate::{\n    policy,\n    cli,\n};",
                "src/edit/a.rs:2: edit may not import cli",
            ),
            (
                "crates/go/re2/src/a.rs",
                "use bumpwright_gostd::X;\nuse bumpwright_yaml::Y;",
                "crates/go/re2/src/a.rs:3: re2 may not import yaml",
            ),
            (
                "src/edit/a.rs",
                "use crate::*;",
                "src/edit/a.rs:2: edit may not import *",
            ),
            (
                "src/edit/mod.rs",
                "use super::git::X;",
                "src/edit/mod.rs:2: edit may not import git",
            ),
            (
                "src/edit/a.rs",
                "use super::super::git::X;",
                "src/edit/a.rs:2: edit may not import git",
            ),
            (
                "src/automation/a.rs",
                "use crate::cli::X;",
                "src/automation/a.rs:2: automation may not import cli",
            ),
        ] {
            assert_eq!(check(path, text), [fault]);
        }
    }

    #[test]
    fn passes_over_comments_and_strings() {
        let text = "/// See [`crate::cli`].\n/* crate::cli */ const A: &str = \"crate::cli \\\" crate::cli\";\n\
            const B: &str = r#\"crate::cli\"#; const C: char = '\"'; // crate::cli\nfn f<'a>(x: &'a str) -> &'a str { x }\n";
        assert_eq!(check("src/policy/a.rs", text), Vec::<String>::new());
        let after_char = "const C: char = '\"';\nuse crate::cli::X;\nconst D: char = '\\'';\nuse crate::git::X;";
        assert_eq!(check("src/policy/a.rs", after_char).len(), 2);
    }

    #[test]
    fn knows_where_tests_begin() {
        let text = "#[cfg(test)]\nmod tests {\n    use super::super::name;\n}\n";
        assert_eq!(check("src/policy/a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn refuses_names_places_and_openings() {
        for (path, fault) in [
            (
                "src/policy/utils.rs",
                "src/policy/utils.rs: \"utils\" says nothing; name what is in it",
            ),
            (
                "tests/common/mod.rs",
                "tests/common/mod.rs: \"common\" says nothing; name what is in it",
            ),
            (
                "src/kitchen/pan.rs",
                "src/kitchen/pan.rs: a room that is not in the table of tests/architecture.rs",
            ),
            (
                "src/policy/deep/a.rs",
                "src/policy/deep/a.rs: deeper than src/room/file.rs or crates/floor/room/src/group/file.rs",
            ),
            ("src/loose.rs", "src/loose.rs: belongs into a room"),
        ] {
            assert_eq!(check(path, ""), [fault]);
        }
        let bare = faults(&[("src/main.rs".to_owned(), "fn main() {}\n".to_owned())]);
        assert_eq!(bare, ["src/main.rs:1: opens without //!"]);
        let others = ROOMS.iter().filter(|room| room.name != "policy");
        let table = others.map(|room| format!("//! | [`{}`]\n", room.name)).collect();
        let lib = faults(&[("src/lib.rs".to_owned(), table)]);
        assert_eq!(lib, ["src/lib.rs: the table of rooms lacks policy"]);
    }

    #[test]
    fn refuses_long_files_and_functions() {
        let long_file = "// line\n".repeat(MAX_FILE_LINES);
        assert_eq!(
            check("src/policy/a.rs", &long_file),
            ["src/policy/a.rs: 701 lines, 700 at most"]
        );
        let function = |lines: usize, line: &str| {
            format!(
                "impl X {{\n    pub(crate) async fn f(&self) {{\n{}    }}\n}}\n",
                line.repeat(lines)
            )
        };
        assert_eq!(
            check("src/policy/a.rs", &function(98, "        g();\n")),
            Vec::<String>::new()
        );
        assert_eq!(
            check("src/policy/a.rs", &function(99, "        g();\n")),
            ["src/policy/a.rs:3: f has 101 lines, 100 at most"]
        );
        assert_eq!(
            check("src/policy/a.rs", &function(300, "        (\"a\", 1),\n")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn refuses_the_world_in_a_pure_room() {
        let text = "#![allow(clippy::disallowed_methods)]\n";
        assert_eq!(check("src/git/mod.rs", text), Vec::<String>::new());
        assert_eq!(
            check("src/api/a.rs", text),
            ["src/api/a.rs: api is a pure room and cannot opt out of clippy.toml"]
        );
    }
}
