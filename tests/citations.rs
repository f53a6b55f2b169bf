//! Citations in comments resolve in `docs/`: rules and decisions by number, pages by path, their entries by name.
//! And the files named in documents exist. Comments and pages keep to what docs/style.md says, as far as a
//! pattern can find it.
//!
//! `faults` and `lost` are pure functions over paths and texts, with tests of their own: a checker that
//! cannot fail checks nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How the numbers of rules and decisions begin, and how many digits they have.
const FAMILIES: &[(&str, usize)] = &[
    ("IUA-", 3),
    ("KB-", 3),
    ("K-", 3),
    ("N-", 3),
    ("P-", 3),
    ("A-", 3),
    ("C", 2),
];

/// Elliptic curves, whose names look like rules.
const CURVES: &[&str] = &["P-192", "P-224", "P-256", "P-384", "P-521"];

/// Where the files are that documents name.
const FOLDERS: [&str; 5] = ["src", "crates", "tests", "benches", "fixtures"];

/// Obsolete names, and their replacements.
const GONE: &[(&str, &str)] = &[
    ("CLI.md", "docs/cli.md"),
    ("CONTRACT", "the number alone, see docs/behaviour/README.md"),
    ("DECISIONS", "docs/decisions.md"),
    ("GIT.md", "crates/peer/git/README.md"),
    ("QUIRKS", "a page of docs/behaviour/"),
];

/// Phrases, and plain ones (docs/style.md).
const DIALECT: &[(&str, &str)] = &[
    (" anew", "again, or recreate"),
    ("stands twice", "is defined twice"),
    ("is told", "is reported"),
    ("are told", "are reported"),
    ("goes on on", "continues on"),
    ("is none of them", "is not one of them"),
];
/// What may follow `told`: telling apart, and telling somebody.
const TOLD: [&str; 9] = ["apart", "to", "the", "why", "of", "their", "by", "from", "in"];
/// Where they may be: what others wrote, and what has happened.
const AS_WRITTEN: [&str; 4] = ["docs/style.md", "docs/behaviour/", "docs/reference/crds/", "fixtures/"];

#[test]
fn what_is_cited_is_in_the_docs() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "fixtures", "docs"] {
        collect(Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(folder), &mut files);
    }
    let rules = Docs::of(&files).numbers.len();
    assert!(rules > 500, "only {rules} rules found in docs/");
    let faults = faults(&files);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    println!("citations: {} files, {rules} rules and decisions", files.len());
}

#[test]
fn files_that_documents_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in FOLDERS.iter().chain(&["docs"]) {
        collect(root, Path::new(folder), &mut files);
    }
    for path in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        files.extend(std::fs::read_to_string(root.join(path)).map(|text| (path.to_owned(), text)));
    }
    files.retain(|(path, _)| path.ends_with(".md"));
    let floors: Vec<String> = std::fs::read_dir(root.join("crates"))
        .unwrap()
        .map(|floor| floor.unwrap().file_name().into_string().unwrap())
        .collect();
    let lost: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| lost(path, text, &floors, &|named| root.join(named).exists()))
        .collect();
    assert!(lost.is_empty(), "\n{}\n", lost.join("\n"));
}

/// All files with comments or prose below `folder`, as path from the root and text.
fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        let ending = path.extension().and_then(|ending| ending.to_str());
        if entry.file_type().unwrap().is_dir() {
            collect(root, &path, files);
        } else if matches!(ending, Some("rs" | "go" | "py" | "md")) {
            let text = std::fs::read_to_string(root.join(&path)).unwrap();
            files.push((path.to_str().unwrap().to_owned(), text));
        }
    }
    files.sort();
}

/// The targets of citations.
#[derive(Default)]
struct Docs<'a> {
    /// Where each number is defined.
    numbers: BTreeMap<&'a str, Vec<String>>,
    /// The pages, each with its headings and the entries that begin in bold.
    pages: BTreeMap<&'a str, BTreeSet<String>>,
}

impl<'a> Docs<'a> {
    fn of(files: &'a [(String, String)]) -> Self {
        let mut docs = Self::default();
        for (path, text) in files.iter().filter(|(path, _)| path.starts_with("docs/")) {
            let names = docs.pages.entry(path).or_default();
            for (index, line) in text.lines().enumerate() {
                let entry = line
                    .strip_prefix("- **")
                    .and_then(|rest| Some(rest.split_once("**")?.0));
                if let Some(number) = entry.filter(|entry| is_number(entry)) {
                    let places = docs.numbers.entry(number).or_default();
                    places.push(format!("{path}:{}", index + 1));
                }
                let heading = line.starts_with('#').then(|| line.trim_start_matches(['#', ' ']));
                names.extend(entry.or(heading).map(|name| name.replace('`', "")));
            }
        }
        docs
    }

    /// What is wrong with the citations of a line.
    fn faults_of(&self, cited: &str) -> Vec<String> {
        let words = cited.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
        let mut faults: Vec<String> = words
            .filter(|word| is_number(word) && !self.numbers.contains_key(word))
            .map(|number| format!("{number} is not in docs/"))
            .collect();
        for (path, rest) in pages_in(cited) {
            let Some(known) = self.pages.get(path) else {
                faults.push(format!("there is no {path}"));
                continue;
            };
            let absent = names_in(rest)
                .into_iter()
                .filter(|name| !known.iter().any(|known| known.contains(name)));
            faults.extend(absent.map(|name| format!("{path} has no *{name}*")));
        }
        faults
    }
}

/// Everything that is wrong, one sentence each.
fn faults(files: &[(String, String)]) -> Vec<String> {
    let docs = Docs::of(files);
    let mut faults: Vec<String> = docs
        .numbers
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(number, places)| format!("{number} is defined {} times: {}", places.len(), places.join(", ")))
        .collect();
    for (path, text) in files {
        for (index, line) in text.lines().enumerate() {
            let cited = cited_part(path, line);
            let gone = GONE
                .iter()
                .filter(|(name, _)| cited.contains(name))
                .map(|(name, instead)| format!("{name} is not in this repository; cite {instead}"));
            let found = gone.chain(names_a_file_of_old(cited)).chain(docs.faults_of(cited));
            let found = found.chain(dialect(path, cited));
            faults.extend(found.map(|fault| format!("{path}:{}: {fault}", index + 1)));
        }
    }
    faults
}

/// Phrases of comments and pages for which there are plain ones.
fn dialect<'t>(path: &str, text: &'t str) -> impl Iterator<Item = String> + 't {
    let is_prose = path.ends_with(".rs") || path.starts_with("docs/");
    let is_test = path.starts_with("tests/") || path.contains("/tests/");
    let is_ours = is_prose && !is_test && !AS_WRITTEN.iter().any(|place| path.starts_with(place));
    let phrases = DIALECT.iter().filter(move |_| is_ours);
    phrases.filter_map(move |(phrase, instead)| {
        let (_, rest) = text.split_once(phrase)?;
        let next = rest.split_whitespace().next().unwrap_or_default();
        let next = next.trim_end_matches(|char: char| !char.is_alphanumeric());
        let is_fine = phrase.ends_with("told") && (TOLD.contains(&next) || rest.starts_with(char::is_alphabetic));
        (!is_fine).then(|| format!("{phrase:?} in plain words: {instead} (docs/style.md)"))
    })
}

/// The part of a line that cites: of code the comment, of prose and of Python, whose comments are strings too, all.
fn cited_part<'a>(path: &str, line: &'a str) -> &'a str {
    if !path.ends_with(".rs") && !path.ends_with(".go") {
        return line;
    }
    let mut slashes = line.match_indices("//").map(|(at, _)| line.split_at(at));
    slashes
        .find(|(before, _)| before.is_empty() || before.ends_with(char::is_whitespace))
        .map_or("", |(_, comment)| comment)
}

/// Whether it is the number of a rule or decision.
fn is_number(word: &str) -> bool {
    let mut families = FAMILIES.iter();
    let fits = families.any(|(family, digits)| {
        let number = word.strip_prefix(family);
        number.is_some_and(|number| number.len() == *digits && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    fits && !CURVES.contains(&word)
}

/// Documents were once cited by numbers of another folder.
fn names_a_file_of_old(cited: &str) -> Option<String> {
    let lower = cited.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    while let Some(word) = words.next() {
        let number = || words.clone().next().unwrap_or_default();
        let is_old = |number: &str| number.len() == 3 && number.starts_with("00");
        if matches!(word, "document" | "documents") && is_old(number()) {
            return Some(format!(
                "{word} {}: cite it by its name, see docs/behaviour/README.md",
                number()
            ));
        }
    }
    None
}

/// The pages below `docs/` that are cited, each with what follows.
fn pages_in(cited: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for (at, _) in cited.match_indices("docs/") {
        let begins = !cited[..at].ends_with(|c: char| c.is_alphanumeric() || c == '/');
        let end = cited[at..].find(".md").map(|length| at + length + ".md".len());
        if let Some(end) = end.filter(|_| begins) {
            let path = &cited[at..end];
            if path.chars().all(|c| c.is_alphanumeric() || "/.-_".contains(c)) {
                found.push((path, &cited[end..]));
            }
        }
    }
    found
}

/// The names in italics that follow a page: `, *formatting* and *new value's type*`.
fn names_in(mut rest: &str) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', '`', ' ']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
        let name = rest.strip_prefix('*').and_then(|rest| rest.split_once('*'));
        match name {
            Some((name, after)) if !name.is_empty() => {
                names.push(name.replace('`', ""));
                rest = after;
            }
            _ => return names,
        }
    }
}

/// The files that a document names in backticks and that are not there. They are named from the root, from the folder
/// of the document, or shortly: `cli/plan.rs` is in `src/`, `edit/find/scan.rs` in the `src/` of the crate `edit`.
fn lost(path: &str, text: &str, floors: &[String], is_there: &dyn Fn(&str) -> bool) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_path = |name: &str| name.contains('/') && name.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    let mut lost = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
            let (first, rest) = name.split_once('/').unwrap();
            if !FOLDERS.contains(&first) && !name.ends_with(".rs") {
                continue;
            }
            let of_floor = |floor: &String| is_there(&format!("crates/{floor}/{first}/src/{rest}"));
            let places = [name.to_owned(), format!("{folder}/{name}"), format!("src/{name}")];
            if !places.iter().any(|place| is_there(place)) && !floors.iter().any(of_floor) {
                lost.push(format!("{path}:{}: there is no {name}", index + 1));
            }
        }
    }
    lost
}

mod checker {
    use super::*;

    /// The faults of a source file beside a small `docs/`.
    fn check(path: &str, text: &str) -> Vec<String> {
        let rules = "# Rules\n\n## `update`: what TARGET means\n\n- **K-001** One.\n- **new value's type** Two.\n- **C30** Three.\n";
        faults(&[
            ("docs/rules.md".to_owned(), rules.to_owned()),
            (path.to_owned(), text.to_owned()),
        ])
    }

    #[test]
    fn accepts_what_can_be_looked_up() {
        for line in [
            "//! What it does (K-001, C30; docs/rules.md C30).",
            "let a = 1;\t// docs/rules.md, *TARGET*, rule 5, and *new value's type*",
            "/// SHA-256, UTF-8, AES-256, OAEP-256, ML-KEM-768, P-256, CVE-2024-001, RFC 7230, C3, C300",
            "const DECISIONS: &str = \"K-999\"; let url = \"https://x/K-998\";",
            "/// `docs/spec/v1` and other/docs/absent.md of somebody else; documents of a stream",
        ] {
            assert_eq!(check("src/a.rs", line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn asks_for_plain_words() {
        let found = |text: &str| dialect("crates/engine/edit/src/lib.rs", text).collect::<Vec<_>>();
        assert_eq!(
            found("// It is told once."),
            ["\"is told\" in plain words: is reported (docs/style.md)"]
        );
        assert!(found("// They are told apart by name, and a caller is told why.").is_empty());
        assert_eq!(dialect("docs/style.md", "it is told").count(), 0);
    }

    #[test]
    fn refuses_what_leads_nowhere() {
        for (line, fault) in [
            ("//! See K-002.", "src/a.rs:1: K-002 is not in docs/"),
            ("f();\t// K-001 … K-003", "src/a.rs:1: K-003 is not in docs/"),
            ("\n/// C31", "src/a.rs:2: C31 is not in docs/"),
            ("// docs/absent.md", "src/a.rs:1: there is no docs/absent.md"),
            (
                "// docs/rules.md, *Output*",
                "src/a.rs:1: docs/rules.md has no *Output*",
            ),
            (
                "// docs/rules.md *TARGET* and *Flags*",
                "src/a.rs:1: docs/rules.md has no *Flags*",
            ),
            (
                "// CLI.md rule 5",
                "src/a.rs:1: CLI.md is not in this repository; cite docs/cli.md",
            ),
            (
                "// (Documents 004 and 000)",
                "src/a.rs:1: documents 004: cite it by its name, see docs/behaviour/README.md",
            ),
        ] {
            assert_eq!(check("src/a.rs", line), [fault]);
        }
        for (name, instead) in GONE {
            let fault = format!("tests/a.md:1: {name} is not in this repository; cite {instead}");
            assert_eq!(check("tests/a.md", &format!("By {name}, C30")), [fault]);
        }
    }

    #[test]
    fn refuses_a_number_that_is_defined_twice() {
        assert_eq!(
            check("docs/other.md", "- **K-001** Again.\n"),
            ["K-001 is defined 2 times: docs/rules.md:5, docs/other.md:1"]
        );
    }

    #[test]
    fn refuses_files_that_are_not_there() {
        let there = [
            "src/cli/plan.rs",
            "crates/engine/edit/src/find/scan.rs",
            "crates/engine/edit/tests/a.rs",
        ];
        let floors = ["go".to_owned(), "engine".to_owned()];
        let lost = |text: &str| {
            lost("crates/engine/edit/README.md", text, &floors, &|named| {
                there.contains(&named)
            })
        };
        let good = "`src/cli/plan.rs` `cli/plan.rs`, `edit/find/scan.rs`, `tests/a.rs`; `docs/spec/v1`, `cmd/main.go`, `tests/*.rs`, src/b.rs";
        assert_eq!(lost(good), Vec::<String>::new());
        for name in [
            "src/cli/gone.rs",
            "cli/gone.rs",
            "edit/gone.rs",
            "tests/gone",
            "yaml/scan.rs",
        ] {
            let fault = format!("crates/engine/edit/README.md:2: there is no {name}");
            assert_eq!(lost(&format!("See\n`a` and `{name}`")), [fault]);
        }
    }
}
