//! How often the whole program may do what hides an error, tests apart.

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
        most: 300,
        instead: "say what is missing; an empty value hides it",
    },
    Pattern {
        name: "PoisonError",
        matches: has_poison,
        most: 0,
        instead: "use the locks of parking_lot",
    },
];

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
    PATTERNS.iter().filter_map(fault).collect()
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
}
