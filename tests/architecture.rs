//! The shape of the source: dependencies between floors, sizes of files and functions, names; the table of crates in
//! ARCHITECTURE.md, compared with Cargo's; and the table of readers in docs/how/security.md, made from what the code
//! says of them. `BLESS=1` rewrites the tables.
//!
//! `faults` and `arrows` are pure functions with tests of their own: a checker that cannot fail checks nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/counts.rs"]
mod counts;

/// From the top to the bottom: a crate may use its own floor and those below.
const FLOORS: [&str; 5] = ["app", "flow", "peer", "engine", "go"];
/// No file, clock, environment, network or process is used here.
const PURE: [&str; 2] = ["engine", "go"];

const VAGUE_NAMES: [&str; 7] = ["utils", "util", "helpers", "helper", "common", "misc", "types"];
const MAX_FILE_LINES: usize = 700;
const MAX_FUNCTION_LINES: usize = 100;
/// A reconciliation reads like the list of its steps.
const MAX_RECONCILE_LINES: usize = 40;
/// The functions with the steps of a kind, in the folders of kinds.
const RECONCILE: [&str; 2] = ["reconcile", "run"];
const KINDS: [&str; 3] = [
    "crates/app/controllers/src/images/",
    "crates/app/controllers/src/sources/",
    "crates/app/controllers/src/kustomizations/",
];

/// Kinds whose steps return values: the status is changed in one place of each.
const STEPS_RETURN_VALUES: [&str; 3] = [
    "crates/app/controllers/src/images/",
    "crates/app/controllers/src/sources/",
    "crates/app/controllers/src/kustomizations/",
];
/// The files of these kinds that may change a status: the list of steps, the frame of several kinds,
/// and the status itself.
const CHANGES_STATUS: [&str; 3] = ["mod.rs", "source.rs", "status.rs"];

/// A crate of ours.
struct Crate {
    name: String,
    floor: String,
    purpose: String,
    /// Of ours, by name, without those that only tests need.
    uses: Vec<String>,
}

#[test]
fn the_source_has_its_shape() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        collect(root(), Path::new(folder), &mut files);
    }
    let sources = files.iter().filter(|(path, _)| path.contains("src/")).count();
    assert!(sources > 10, "only {sources} source files found");
    let mut faults = faults(&files);
    faults.extend(circles::faults(&files));
    faults.extend(counts::faults(&files));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    println!("architecture: {} files", files.len());
}

#[test]
fn no_crate_uses_one_of_a_floor_above() {
    let crates = crates();
    assert!(crates.len() > 10, "only {} crates found", crates.len());
    let arrows = arrows(&crates);
    assert!(arrows.is_empty(), "\n{}\n", arrows.join("\n"));
}

#[test]
fn the_table_of_crates_is_what_cargo_says() {
    hold("ARCHITECTURE.md", "crates", &table(&crates()));
}

/// Whoever reads what others send says what bounds it and whose memory it is; clippy finds who
/// does not (crates/peer/clippy.toml).
#[test]
fn the_table_of_readers_is_what_the_code_says() {
    let mut files = Vec::new();
    collect(root(), Path::new("crates/peer"), &mut files);
    let readers: Vec<Reader<'_>> = (files.iter())
        .flat_map(|(path, text)| Reader::all(path, text))
        .map(Result::unwrap)
        .collect();
    assert!(readers.len() > 30, "only {} readers found", readers.len());
    let mut table = "| read | bound | account | by |\n|---|---|---|---|\n".to_owned();
    for Reader {
        path,
        what,
        bound,
        account,
    } in readers
    {
        let place = path.trim_start_matches("crates/peer/").replace("/src/", "/");
        writeln!(table, "| {what} | {bound} | {account} | `{place}` |").unwrap();
    }
    hold("docs/how/security.md", "readers", &table);
}

/// Holds that a page has this between the marks of this name, or writes it there.
fn hold(page: &str, mark: &str, wanted: &str) {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
    let split = text
        .split_once(&begin)
        .and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = split.unwrap_or_else(|| panic!("{page} lacks its mark {begin}"));
    let wanted = format!("{before}{begin}{wanted}{end}{after}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    } else {
        assert!(
            text == wanted,
            "the table of {mark} in {page} is out of date: run this test with BLESS=1"
        );
    }
}

/// A function that reads what others send, by the lint that it expects.
#[derive(Debug, PartialEq)]
struct Reader<'t> {
    path: &'t str,
    what: &'t str,
    bound: &'t str,
    account: &'t str,
}

impl<'t> Reader<'t> {
    /// Those of a file, or what is wrong with one.
    fn all(path: &'t str, text: &'t str) -> impl Iterator<Item = Result<Self, String>> {
        text.split("clippy::disallowed_methods,").skip(1).map(move |rest| {
            let reason = rest
                .trim_start()
                .strip_prefix("reason = \"")
                .and_then(|rest| rest.split_once('"'));
            let parts: Vec<&str> = reason.map_or(Vec::new(), |(reason, _)| reason.split("; ").collect());
            let [what, bound, account] = parts[..] else {
                return Err(reader_fault(path));
            };
            match (bound.strip_prefix("bound: "), account.strip_prefix("account: ")) {
                (Some(bound), Some(account)) => Ok(Self {
                    path,
                    what,
                    bound,
                    account,
                }),
                _ => Err(reader_fault(path)),
            }
        })
    }
}

fn reader_fault(path: &str) -> String {
    format!(
        "{path}: a reader expects clippy::disallowed_methods, with the reason \"WHAT; bound: BOUND; account: ACCOUNT\""
    )
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The crates below `crates/`, from the top floor to the bottom.
fn crates() -> Vec<Crate> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let mut crates: Vec<Crate> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(of_package)
        .collect();
    let floor = |one: &Crate| FLOORS.iter().position(|floor| *floor == one.floor);
    crates.sort_by_key(|one| (floor(one), one.name.clone()));
    crates
}

/// None for the program itself.
fn of_package(package: &Value) -> Option<Crate> {
    let manifest = Path::new(package["manifest_path"].as_str()?)
        .strip_prefix(root())
        .ok()?;
    let floor = manifest.strip_prefix("crates").ok()?.components().next()?;
    let dependencies = package["dependencies"].as_array()?.iter();
    let uses = dependencies
        .filter(|dependency| dependency["kind"] != "dev")
        .filter_map(|dependency| dependency["name"].as_str()?.strip_prefix("bumpwright-"))
        .map(str::to_owned)
        .collect();
    Some(Crate {
        name: package["name"].as_str()?.strip_prefix("bumpwright-")?.to_owned(),
        floor: floor.as_os_str().to_str()?.to_owned(),
        purpose: package["description"].as_str().unwrap_or_default().to_owned(),
        uses,
    })
}

/// Dependencies that point upward, one sentence each.
fn arrows(crates: &[Crate]) -> Vec<String> {
    let height = |floor: &str| FLOORS.iter().rposition(|known| *known == floor);
    let mut faults = Vec::new();
    for one in crates {
        if height(&one.floor).is_none() {
            faults.push(format!("{}: there is no floor {:?}", one.name, one.floor));
        }
        for used in crates.iter().filter(|used| one.uses.contains(&used.name)) {
            if height(&used.floor) < height(&one.floor) {
                let (name, other) = (&one.name, &used.name);
                faults.push(format!("{name} ({}) may not use {other} ({})", one.floor, used.floor));
            }
        }
    }
    faults
}

fn table(crates: &[Crate]) -> String {
    let mut table = "| floor | crate | what it is for | uses |\n|---|---|---|---|\n".to_owned();
    for one in crates {
        let uses = one.uses.join(", ");
        writeln!(table, "| {} | `{}` | {} | {uses} |", one.floor, one.name, one.purpose).unwrap();
    }
    table
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
        match path.split('/').collect::<Vec<_>>()[..] {
            ["src", ..] => source_faults(path, text, &mut faults),
            ["crates", floor, _, "src", ..] => {
                source_faults(path, text, &mut faults);
                crate_faults(path, text, floor, &mut faults);
            }
            ["crates", _, _, "tests", name] if files.iter().any(|(other, _)| *other == format!("tests/{name}")) => {
                faults.push(format!(
                    "{path}: tests/{name} has the same name, and `make check` chooses by name"
                ));
            }
            _ => {}
        }
    }
    faults
}

fn source_faults(path: &str, text: &str, faults: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > MAX_FILE_LINES {
        faults.push(format!("{path}: {lines} lines, {MAX_FILE_LINES} at most"));
    }
    let of_kind = KINDS.iter().any(|folder| path.starts_with(folder));
    for (line, name, length) in functions(text) {
        let most = if of_kind && RECONCILE.contains(&name.as_str()) {
            MAX_RECONCILE_LINES
        } else {
            MAX_FUNCTION_LINES
        };
        if length > most {
            faults.push(format!("{path}:{line}: {name} has {length} lines, {most} at most"));
        }
    }
    for (line, name) in undocumented(text) {
        faults.push(format!("{path}:{line}: {name} is public and has no doc"));
    }
    if of_kind && text.contains(", Outcome>") {
        faults.push(format!("{path}: an outcome travels as an error"));
    }
    status_faults(path, text, faults);
}

/// Public types outside of test modules without a doc. Functions, fields and variants whose name says all need none.
fn undocumented(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_documented = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with("mod tests") {
            break;
        }
        let item = line.strip_prefix("pub ").and_then(|rest| {
            let (kind, name) = rest.split_once(' ')?;
            let is_type = ["struct", "enum", "trait", "type"].contains(&kind);
            is_type.then_some(name)
        });
        match item {
            Some(name) if !is_documented => found.push((index + 1, name)),
            _ => {}
        }
        // A derive of several lines stands between the doc and the item.
        let is_item = ["pub ", "fn ", "struct ", "enum ", "impl", "}"]
            .iter()
            .any(|start| line.starts_with(start));
        is_documented = line.starts_with("///") || is_documented && !is_item && !line.is_empty();
    }
    found
}

fn status_faults(path: &str, text: &str, faults: &mut Vec<String>) {
    let is_checked = STEPS_RETURN_VALUES.iter().any(|folder| path.starts_with(folder));
    let name = path.rsplit('/').next().unwrap_or_default();
    if !is_checked || CHANGES_STATUS.contains(&name) {
        return;
    }
    for (index, line) in text.lines().enumerate() {
        if line.contains("&mut Status") {
            let line = index + 1;
            faults.push(format!(
                "{path}:{line}: a step returns values; status.rs changes the status"
            ));
        }
    }
}

fn crate_faults(path: &str, text: &str, floor: &str, faults: &mut Vec<String>) {
    // What a kind does is a folder of the group of its controller.
    let (depth, deepest) = if floor == "app" {
        (8, "group/kind/steps")
    } else {
        (6, "group")
    };
    if path.split('/').count() > depth {
        faults.push(format!("{path}: deeper than crates/floor/crate/src/{deepest}/file.rs"));
    }
    if floor == "peer" {
        if path.ends_with("/src/lib.rs") && !text.contains(READS) {
            faults.push(format!("{path}: lacks {READS}, which turns on crates/peer/clippy.toml"));
        }
        faults.extend(Reader::all(path, text).filter_map(Result::err));
        if text.contains("allow(clippy::disallowed_") {
            faults.push(reader_fault(path));
        }
    }
    if !PURE.contains(&floor) {
        return;
    }
    if path.ends_with("/src/lib.rs") && !text.contains(BANS) {
        faults.push(format!("{path}: lacks {BANS}, which turns on the bans of clippy.toml"));
    }
    if text.contains("allow(clippy::disallowed_") {
        faults.push(format!("{path}: {floor} is pure and cannot opt out of clippy.toml"));
    }
}

const READS: &str = "#![cfg_attr(not(test), warn(clippy::disallowed_methods))]";

const BANS: &str = "#![warn(clippy::disallowed_methods, clippy::disallowed_types)]";

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

mod checker {
    use super::*;

    fn check(path: &str, text: &str) -> Vec<String> {
        faults(&[(path.to_owned(), format!("//! Doc.\n{text}"))])
    }

    #[test]
    fn refuses_arrows_that_point_upward() {
        let one = |name: &str, floor: &str, uses: &[&str]| Crate {
            name: name.to_owned(),
            floor: floor.to_owned(),
            purpose: "for the test".to_owned(),
            uses: uses.iter().map(|used| (*used).to_owned()).collect(),
        };
        let crates = [
            one("update", "flow", &["git", "edit", "scan"]),
            one("scan", "flow", &[]),
            one("git", "peer", &["scan", "edit"]),
            one("edit", "engine", &["git"]),
            one("yaml", "cellar", &[]),
        ];
        assert_eq!(
            arrows(&crates),
            [
                "git (peer) may not use scan (flow)",
                "edit (engine) may not use git (peer)",
                "yaml: there is no floor \"cellar\"",
            ]
        );
        assert!(table(&crates).ends_with("| peer | `git` | for the test | scan, edit |\n| engine | `edit` | for the test | git |\n| cellar | `yaml` | for the test |  |\n"));
    }

    #[test]
    fn asks_public_types_for_a_doc() {
        let text = "/// Doc.\n#[derive(\n    Debug,\n)]\npub enum A {}\npub fn b() {}\n#[derive(Debug)]\npub struct C<T> {\n    pub d: u8,\n}\n";
        assert_eq!(undocumented(text), [(8, "C<T> {")]);
    }

    #[test]
    fn refuses_names_places_and_openings() {
        for (path, text, fault) in [
            (
                "crates/engine/policy/src/utils.rs",
                "",
                "crates/engine/policy/src/utils.rs: \"utils\" says nothing; name what is in it",
            ),
            (
                "tests/common/mod.rs",
                "",
                "tests/common/mod.rs: \"common\" says nothing; name what is in it",
            ),
            (
                "crates/peer/git/src/pack/deep/a.rs",
                "",
                "crates/peer/git/src/pack/deep/a.rs: deeper than crates/floor/crate/src/group/file.rs",
            ),
            (
                "crates/app/controllers/src/images/policy/tables/deep/a.rs",
                "",
                "crates/app/controllers/src/images/policy/tables/deep/a.rs: deeper than crates/floor/crate/src/group/kind/steps/file.rs",
            ),
        ] {
            assert_eq!(check(path, text), [fault]);
        }
        let suites = [
            "tests/apply.rs",
            "crates/flow/apply/tests/apply.rs",
            "crates/flow/apply/tests/a.rs",
        ];
        assert_eq!(
            faults(&suites.map(|path| (path.to_owned(), "//! Doc.\n".to_owned()))),
            ["crates/flow/apply/tests/apply.rs: tests/apply.rs has the same name, and `make check` chooses by name"]
        );
        let bare = faults(&[("src/main.rs".to_owned(), "fn main() {}\n".to_owned())]);
        assert_eq!(bare, ["src/main.rs:1: opens without //!"]);
    }

    #[test]
    fn refuses_the_world_in_a_pure_crate() {
        let opened = "#![allow(clippy::disallowed_methods)]\n";
        assert_eq!(check("crates/flow/scan/src/lib.rs", opened), Vec::<String>::new());
        assert_eq!(check("crates/engine/api/src/lib.rs", BANS), Vec::<String>::new());
        for (path, fault) in [
            (
                "crates/go/re2/src/a.rs",
                "crates/go/re2/src/a.rs: go is pure and cannot opt out of clippy.toml".to_owned(),
            ),
            (
                "crates/engine/api/src/a.rs",
                "crates/engine/api/src/a.rs: engine is pure and cannot opt out of clippy.toml".to_owned(),
            ),
        ] {
            assert_eq!(check(path, opened), [fault]);
        }
        assert_eq!(check("crates/engine/api/src/lib.rs", "").len(), 1);
    }

    #[test]
    fn refuses_readers_without_an_account() {
        let path = "crates/peer/git/src/a.rs";
        let reader = |reason: &str| format!("#[expect(clippy::disallowed_methods, reason = \"{reason}\")]");
        let sound = reader("packs; bound: 4 KiB; account: that of fetches");
        assert_eq!(check(path, &sound), Vec::<String>::new());
        let expected = Reader {
            path,
            what: "packs",
            bound: "4 KiB",
            account: "that of fetches",
        };
        assert_eq!(Reader::all(path, &sound).next(), Some(Ok(expected)));
        for wrong in [
            reader("packs; account: that of fetches; bound: 4 KiB"),
            reader("it is only this once"),
            "#[expect(clippy::disallowed_methods)]".replace(")]", ",)]"),
            "#[allow(clippy::disallowed_methods)]".to_owned(),
        ] {
            assert_eq!(check(path, &wrong), [reader_fault(path)], "{wrong}");
        }
        assert_eq!(check("crates/peer/git/src/lib.rs", READS), Vec::<String>::new());
        assert_eq!(check("crates/peer/git/src/lib.rs", "").len(), 1);
    }

    #[test]
    fn refuses_long_files_and_functions() {
        let long_file = "// line\n".repeat(MAX_FILE_LINES);
        assert_eq!(
            check("src/cli/a.rs", &long_file),
            ["src/cli/a.rs: 701 lines, 700 at most"]
        );
        let function = |lines: usize, line: &str| {
            format!(
                "impl X {{\n    pub(crate) async fn f(&self) {{\n{}    }}\n}}\n",
                line.repeat(lines)
            )
        };
        assert_eq!(
            check("src/cli/a.rs", &function(98, "        g();\n")),
            Vec::<String>::new()
        );
        assert_eq!(
            check("src/cli/a.rs", &function(99, "        g();\n")),
            ["src/cli/a.rs:3: f has 101 lines, 100 at most"]
        );
        assert_eq!(
            check("src/cli/a.rs", &function(300, "        (\"a\", 1),\n")),
            Vec::<String>::new()
        );
        let reconcile = function(39, "        g();\n").replace("f(&self)", "reconcile(&self)");
        assert_eq!(check("src/cli/a.rs", &reconcile), Vec::<String>::new());
        let kind = "crates/app/controllers/src/images/a/mod.rs";
        assert_eq!(
            check(kind, &reconcile),
            [format!("{kind}:3: reconcile has 41 lines, 40 at most")]
        );
    }

    #[test]
    fn refuses_steps_that_change_the_status() {
        let step = "async fn store(\n    request: &Request,\n    status: &mut Status,\n) -> Result<(), Error>;\n";
        for folder in STEPS_RETURN_VALUES {
            let path = format!("{folder}bucket/store.rs");
            assert_eq!(
                check(&path, step),
                [format!("{path}:4: a step returns values; status.rs changes the status")]
            );
            assert_eq!(check(&path, &step.replace("&mut ", "&")), Vec::<String>::new());
            for name in CHANGES_STATUS {
                assert_eq!(check(&format!("{folder}bucket/{name}"), step), Vec::<String>::new());
            }
        }
        assert_eq!(
            check("crates/app/controllers/src/process.rs", step),
            Vec::<String>::new()
        );
    }

    #[test]
    fn refuses_outcomes_as_errors() {
        let kind = "crates/app/controllers/src/images/a/mod.rs";
        assert_eq!(
            check(kind, "fn step() -> Result<(), Outcome>;\n"),
            [format!("{kind}: an outcome travels as an error")]
        );
    }
}
