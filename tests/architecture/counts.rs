//! How often the whole program may do what hides an error or says nothing, tests apart.

/// What is counted.
struct Pattern {
    name: &'static str,
    matches: fn(&str) -> bool,
    /// How many lines may have it.
    most: usize,
    /// What to write in its place.
    instead: &'static str,
}

const PATTERNS: [Pattern; 3] = [
    Pattern {
        name: "Result<_, String>",
        matches: has_text_error,
        // Two are in tests.
        most: 6,
        instead: "return an enum, or a CliError in src",
    },
    Pattern {
        name: "unwrap_or_default()",
        matches: has_default,
        most: 299,
        instead: "say what is missing; an empty value hides it",
    },
    Pattern {
        name: "PoisonError",
        matches: has_poison,
        most: 0,
        instead: "use the locks of parking_lot",
    },
];

/// Docs of one line and so few words repeat a name more often than not (docs/style.md, rule 19).
const WORDS_OF_A_SHORT_DOC: usize = 3;
/// How many there may be. Those left say a unit, a form or an example, or are help texts of flags.
const MOST_SHORT_DOCS: usize = 780;

/// Whether a `Result` on the line has a text as its error: its last part, at its own depth.
fn has_text_error(line: &str) -> bool {
    line.match_indices("Result<").any(|(at, start)| {
        let inner = &line[at + start.len()..];
        let mut depth = 1;
        let close = inner.find(|letter| {
            depth += match letter {
                '<' => 1,
                '>' => -1,
                _ => 0,
            };
            depth == 0
        });
        close.is_some_and(|close| inner[..close].ends_with(", String"))
    })
}

fn has_default(line: &str) -> bool {
    line.contains("unwrap_or_default()")
}

fn has_poison(line: &str) -> bool {
    line.contains("PoisonError")
}

/// What is over its count, one sentence each.
pub fn faults(files: &[(String, String)]) -> Vec<String> {
    let program: Vec<&str> = files
        .iter()
        .filter(|(path, _)| is_of_program(path))
        .map(|(_, text)| text.as_str())
        .collect();
    let fault = |pattern: &Pattern| {
        let lines = program.iter().flat_map(|text| code(text));
        let count = lines.filter(|line| (pattern.matches)(line)).count();
        let Pattern {
            name, most, instead, ..
        } = pattern;
        (count > *most).then(|| format!("{count} lines have {name}, {most} at most: {instead}"))
    };
    let mut faults: Vec<String> = PATTERNS.iter().filter_map(fault).collect();
    let docs: usize = program.iter().map(|text| short_docs(text)).sum();
    if docs > MOST_SHORT_DOCS {
        faults.push(format!(
            "{docs} docs have at most {WORDS_OF_A_SHORT_DOC} words, {MOST_SHORT_DOCS} at most: say more than the name, or nothing"
        ));
    }
    faults
}

/// How many docs of a file, before its tests, are one short line.
fn short_docs(text: &str) -> usize {
    let lines = text.lines().take_while(|line| !line.starts_with("mod tests"));
    let lines: Vec<&str> = lines.map(str::trim_start).collect();
    let blocks = lines.chunk_by(|line, next| is_doc(line) == is_doc(next));
    blocks.filter(|block| is_short_doc(block)).count()
}

fn is_doc(line: &str) -> bool {
    line.starts_with("///")
}

fn is_short_doc(block: &[&str]) -> bool {
    let [line] = block else { return false };
    let words = line.strip_prefix("/// ").map(|doc| doc.split_whitespace().count());
    words.is_some_and(|words| (1..=WORDS_OF_A_SHORT_DOC).contains(&words))
}

/// Whether a file is a part of what ships.
fn is_of_program(path: &str) -> bool {
    let is_for_tests = ["crates/app/testkit/", "crates/app/corpora/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    !is_for_tests && (path.starts_with("src/") || path.starts_with("crates/") && path.contains("/src/"))
}

/// The lines before the tests of a file, without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|line| !line.starts_with("mod tests"))
        .filter(|line| !line.trim_start().starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(path: &str, line: &str, times: usize) -> usize {
        faults(&[(path.to_owned(), line.repeat(times))]).len()
    }

    #[test]
    fn what_hides_errors_is_counted_in_the_program_alone() {
        let text_error = "fn a() -> Result<(), String> {\n";
        assert_eq!(faults_of("src/a.rs", text_error, 6), 0);
        assert_eq!(faults_of("src/a.rs", text_error, 7), 1);
        assert_eq!(faults_of("crates/go/a/src/lib.rs", text_error, 7), 1);
        let typed = "fn a() -> Result<BTreeMap<String, String>, Error> {\n";
        assert_eq!(faults_of("src/a.rs", typed, 7), 0);
        assert_eq!(faults_of("crates/go/a/tests/a.rs", text_error, 7), 0);
        assert_eq!(faults_of("crates/app/testkit/src/a.rs", text_error, 7), 0);
        assert_eq!(faults_of("src/a.rs", "// PoisonError\n", 1), 0);
        assert_eq!(faults_of("src/a.rs", "mod tests {\nPoisonError\n", 1), 0);
        assert_eq!(faults_of("src/a.rs", "PoisonError\n", 1), 1);
    }

    #[test]
    fn docs_of_a_few_words_are_counted() {
        for (text, count) in [
            ("/// The name.\nname: String,\n", 1),
            ("    /// Its id.\n    id: u64,\n    /// In bytes.\n    size: u64,\n", 2),
            ("/// In bytes, without the header.\nsize: u64,\n", 0),
            (
                "/// A sentence that says more and goes\n/// over two lines.\nfn a() {}\n",
                0,
            ),
            ("// The name.\nname: String,\n", 0),
            ("fn a() {}\nmod tests {\n    /// The name.\n    name: String,\n", 0),
        ] {
            assert_eq!(short_docs(text), count, "{text}");
        }
        let program = |times| ("src/a.rs".to_owned(), "/// The name.\nname: String,\n".repeat(times));
        assert_eq!(faults(&[program(MOST_SHORT_DOCS)]), [] as [String; 0]);
        assert_eq!(faults(&[program(MOST_SHORT_DOCS + 1)]).len(), 1);
    }
}
