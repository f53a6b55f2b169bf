//! How often the whole program may do what hides an error, tests apart.

/// A pattern, how many lines may have it, and what to write in its place.
const AT_MOST: [(&str, fn(&str) -> bool, usize, &str); 3] = [
    (
        "Result<_, String>",
        has_text_error,
        4,
        "return an enum, or a CliError in src",
    ),
    (
        "unwrap_or_default()",
        has_default,
        300,
        "say what is missing; an empty value hides it",
    ),
    ("PoisonError", has_poison, 0, "use the locks of parking_lot"),
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
    AT_MOST
        .iter()
        .filter_map(|&(name, matches, most, instead)| {
            let count: usize = files
                .iter()
                .filter(|(path, _)| is_of_program(path))
                .map(|(_, text)| code(text).filter(|line| matches(line)).count())
                .sum();
            (count > most).then(|| format!("{count} lines have {name}, {most} at most: {instead}"))
        })
        .collect()
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
        assert_eq!(faults_of("src/a.rs", text_error, 4), 0);
        assert_eq!(faults_of("src/a.rs", text_error, 5), 1);
        assert_eq!(faults_of("crates/go/a/src/lib.rs", text_error, 5), 1);
        let typed = "fn a() -> Result<BTreeMap<String, String>, Error> {\n";
        assert_eq!(faults_of("src/a.rs", typed, 5), 0);
        assert_eq!(faults_of("crates/go/a/tests/a.rs", text_error, 5), 0);
        assert_eq!(faults_of("crates/app/testkit/src/a.rs", text_error, 5), 0);
        assert_eq!(faults_of("src/a.rs", "// PoisonError\n", 1), 0);
        assert_eq!(faults_of("src/a.rs", "mod tests {\nPoisonError\n", 1), 0);
        assert_eq!(faults_of("src/a.rs", "PoisonError\n", 1), 1);
    }
}
