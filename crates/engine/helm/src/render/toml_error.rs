//! Why a text is not TOML, in the words of Helm's reader (github.com/BurntSushi/toml 1.6), for what charts get wrong most
//! often: a value that is missing or a word without quotes, and a key that is there twice. For the rest, in the words
//! of ours.

use bumpwright_gostd::quote;

/// The error at an offset of the text.
pub(super) fn words(text: &str, at: usize, ours: &str) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    match fault(text, line, ours) {
        Some((key, why)) => format!("toml: line {line} (last key {}): {why}", quote(&key)),
        None => format!("toml: line {line}: {ours}"),
    }
}

/// The key of a line, with those of its table before it, and what is wrong with it.
fn fault(text: &str, line: usize, ours: &str) -> Option<(String, String)> {
    let lines: Vec<&str> = text.split('\n').take(line).collect();
    let (own, before) = lines.split_last()?;
    let table = before.iter().rev().find_map(|line| line.trim().strip_prefix('['));
    let table = table.map(|name| name.trim_matches(['[', ']', ' ']));
    let (key, value) = own.split_once('=')?;
    let key = key.trim();
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if key.is_empty() || !key.chars().all(is_bare) {
        return None;
    }
    let key = match table {
        Some(table) => format!("{table}.{key}"),
        None => key.to_owned(),
    };
    let why = if ours == "duplicate key" {
        format!("Key '{key}' has already been defined.")
    } else {
        let has_more = text.split('\n').nth(line).is_some();
        no_value(value.trim_start(), has_more)?
    };
    Some((key, why))
}

/// That what is behind `=` is no value; none where that is not clear from its first word.
fn no_value(value: &str, has_more_lines: bool) -> Option<String> {
    let Some(first) = value.chars().next() else {
        let why = if has_more_lines {
            r"expected value but found '\n' instead"
        } else {
            "unexpected EOF; expected value"
        };
        return Some(why.to_owned());
    };
    let word: String = value.chars().take_while(|c| c.is_alphabetic()).collect();
    match (first, word.as_str()) {
        (_, "true" | "false" | "inf" | "nan") => None,
        (first, word) if first.is_alphabetic() => Some(format!("expected value but found {} instead", quote(word))),
        ('#' | '=' | ',' | ']' | '}', _) => Some(format!("expected value but found '{first}' instead")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn what_is_no_value_is_told_with_its_key() {
        for (text, at, expected) in [
            ("a = ", 4, r#"1 (last key "a"): unexpected EOF; expected value"#),
            (
                "a =\nb = 1",
                3,
                r#"1 (last key "a"): expected value but found '\n' instead"#,
            ),
            (
                "[t]\na.b = yes",
                10,
                r#"2 (last key "t.a.b"): expected value but found "yes" instead"#,
            ),
            (
                "a = # none",
                4,
                r#"1 (last key "a"): expected value but found '#' instead"#,
            ),
            ("a = \"x", 4, "1: ours"),
            ("[t", 2, "1: ours"),
        ] {
            assert_eq!(words(text, at, "ours"), format!("toml: line {expected}"), "{text}");
        }
        let twice = words("[t]\na = 1\na = 2", 10, "duplicate key");
        assert_eq!(
            twice,
            r#"toml: line 3 (last key "t.a"): Key 't.a' has already been defined."#
        );
    }
}
