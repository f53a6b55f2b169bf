//! A field that differs as rows of lines: what is the same, what is old and what is new, with the words that differ.

use std::collections::VecDeque;

use serde_json::Value;

use super::fields::Field;
use bumpwright_text::Parts;
use bumpwright_yaml::{node_of_json, write_sigs};

/// How many equal lines are shown on each side of a difference.
const AROUND: usize = 2;

/// The most pairs of lines or words that are compared. What is larger counts as different as a whole.
const PAIRS: usize = 250_000;

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    /// Whether the other side has something else here.
    pub is_changed: bool,
}

/// A row of a field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A line of both sides.
    Same(String),
    /// So many lines of both sides that are not shown.
    Gap(usize),
    /// A line that only one side has, or one that they have with other words. At least one of them is there.
    Changed {
        old: Option<Vec<Part>>,
        new: Option<Vec<Part>>,
    },
}

/// The rows of a field: texts by line, mappings and lists as YAML, other values as JSON.
#[must_use]
pub fn rows(field: &Field) -> Vec<Row> {
    // A hidden value that is another one now.
    if let Some(value) = field.old.as_ref().filter(|_| field.old == field.new) {
        return vec![Row::Same(value.clone())];
    }
    let [old, new] = shown([field.old.as_deref(), field.new.as_deref()]);
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old.as_deref()), lines(new.as_deref()));
    let mut rows = Vec::new();
    let (mut from, mut to) = (0, 0);
    let ends = (old.len(), new.len());
    for (at, there) in matches(&old, &new).into_iter().chain([ends]) {
        changed(old.part(from..at), new.part(to..there), &mut rows);
        if let Some(same) = old.get(at).filter(|_| (at, there) != ends) {
            rows.push(Row::Same((*same).to_owned()));
        }
        (from, to) = (at + 1, there + 1);
    }
    near(rows)
}

/// Values as people read them. A text without line feeds keeps its quotes, so that `"1"` is not the number.
fn shown(values: [Option<&str>; 2]) -> [Option<String>; 2] {
    let read = values.map(|value| value.and_then(|value| serde_json::from_str::<Value>(value).ok()));
    let has_lines = |value: &Option<Value>| {
        value
            .as_ref()
            .and_then(Value::as_str)
            .is_some_and(|text| text.contains('\n'))
    };
    let by_line = read.iter().any(has_lines);
    let [old, new] = values;
    let [read_old, read_new] = read;
    let show = |json: Option<&str>, value: Option<Value>| match value {
        Some(Value::String(text)) if by_line => Some(text),
        Some(value @ (Value::Object(_) | Value::Array(_))) => {
            let mut yaml = String::new();
            let written = write_sigs(&node_of_json(&value), &mut yaml);
            written.map(|()| yaml).ok().or_else(|| json.map(str::to_owned))
        }
        // Not JSON: what is in the place of a secret, and values that were cut.
        _ => json.map(str::to_owned),
    };
    [show(old, read_old), show(new, read_new)]
}

fn lines(text: Option<&str>) -> Vec<&str> {
    match text {
        Some("") => vec![""],
        Some(text) => text.lines().collect(),
        None => Vec::new(),
    }
}

/// Lines that only one side has, beside each other as far as both have some.
fn changed(old: &[&str], new: &[&str], rows: &mut Vec<Row>) {
    for at in 0..old.len().max(new.len()) {
        let (old, new) = match (old.get(at), new.get(at)) {
            (Some(old), Some(new)) => {
                let (old, new) = words(old, new);
                (Some(old), Some(new))
            }
            (old, new) => (old.map(|line| plain(line)), new.map(|line| plain(line))),
        };
        rows.push(Row::Changed { old, new });
    }
}

fn plain(line: &str) -> Vec<Part> {
    vec![Part {
        text: line.to_owned(),
        is_changed: false,
    }]
}

/// Two lines with the words that differ. Lines without a word in common are marked nowhere: all of them is new.
#[must_use]
pub fn words(old: &str, new: &str) -> (Vec<Part>, Vec<Part>) {
    let (olds, news) = (tokens(old), tokens(new));
    let same = matches(&olds, &news);
    let has_word = |at: &usize| {
        olds.get(*at)
            .is_some_and(|word| word.chars().any(char::is_alphanumeric))
    };
    // Quotes do not count as a common word, and one text that replaces another is shown whole.
    if olds.len() > 3 && !same.iter().any(|(at, _)| has_word(at)) {
        return (plain(old), plain(new));
    }
    let (left, right): (Vec<usize>, Vec<usize>) = same.into_iter().unzip();
    (parts(&olds, &left), parts(&news, &right))
}

/// Words with their parts changed unless they are among `same`, in order.
fn parts(words: &[&str], same: &[usize]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut same = same.iter().peekable();
    for (at, word) in words.iter().enumerate() {
        let is_changed = same.next_if(|one| **one == at).is_none();
        match parts.last_mut().filter(|last| last.is_changed == is_changed) {
            Some(last) => last.text.push_str(word),
            None => parts.push(Part {
                text: (*word).to_owned(),
                is_changed,
            }),
        }
    }
    parts
}

/// Words, and every other character by itself. A version is one word.
fn tokens(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// The positions of what both lists have in the same order: the longest such choice, between an equal beginning and an
/// equal end.
fn matches(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let begin = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old.iter().skip(begin).rev().zip(new.iter().skip(begin).rev());
    let end = rest.take_while(|(old, new)| old == new).count();
    let (olds, news) = (old.len() - end, new.len() - end);
    let middle = match (old.get(begin..olds), new.get(begin..news)) {
        (Some(old), Some(new)) if old.len().saturating_mul(new.len()) <= PAIRS => longest(old, new),
        _ => Vec::new(),
    };
    let first = (0..begin).map(|at| (at, at));
    let middle = middle.into_iter().map(|(at, there)| (at + begin, there + begin));
    let last = (0..end).map(|at| (olds + at, news + at));
    first.chain(middle).chain(last).collect()
}

/// The longest common subsequence, by positions.
fn longest(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    // The length of the longest one from each pair of positions on.
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let length =
        |lengths: &[u32], at: usize, there: usize| lengths.get(at * width + there).copied().unwrap_or_default();
    for (at, word) in old.iter().enumerate().rev() {
        for (there, other) in new.iter().enumerate().rev() {
            let longest = if word == other {
                length(&lengths, at + 1, there + 1) + 1
            } else {
                length(&lengths, at + 1, there).max(length(&lengths, at, there + 1))
            };
            if let Some(cell) = lengths.get_mut(at * width + there) {
                *cell = longest;
            }
        }
    }
    let (mut at, mut there, mut found) = (0, 0, Vec::new());
    while let (Some(word), Some(other)) = (old.get(at), new.get(there)) {
        if word == other {
            found.push((at, there));
            (at, there) = (at + 1, there + 1);
        } else if length(&lengths, at + 1, there) >= length(&lengths, at, there + 1) {
            at += 1;
        } else {
            there += 1;
        }
    }
    found
}

/// The rows without equal lines that are far from a difference.
fn near(rows: Vec<Row>) -> Vec<Row> {
    let mut visible = Vec::new();
    let mut same: VecDeque<Row> = VecDeque::new();
    let mut gap = 0;
    let mut after = 0;
    for row in rows {
        if !matches!(row, Row::Same(_)) {
            flush(&mut visible, &mut same, &mut gap);
            visible.push(row);
            after = AROUND;
        } else if after > 0 {
            visible.push(row);
            after -= 1;
        } else {
            same.push_back(row);
            if same.len() > AROUND {
                same.pop_front();
                gap += 1;
            }
        }
    }
    gap += same.len();
    flush(&mut visible, &mut VecDeque::new(), &mut gap);
    visible
}

fn flush(kept: &mut Vec<Row>, same: &mut VecDeque<Row>, gap: &mut usize) {
    if *gap > 0 {
        kept.push(Row::Gap(std::mem::take(gap)));
    }
    kept.extend(same.drain(..));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Parts with brackets around those that differ.
    fn marked(parts: &[Part]) -> String {
        let mark = |part: &Part| {
            if part.is_changed {
                format!("[{}]", part.text)
            } else {
                part.text.clone()
            }
        };
        parts.iter().map(mark).collect()
    }

    fn text(old: Option<&str>, new: Option<&str>) -> String {
        let field = Field {
            path: "a".to_owned(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
        };
        let row = |row: &Row| match row {
            Row::Same(line) => format!("  {line}\n"),
            Row::Gap(lines) => format!("@ {lines}\n"),
            Row::Changed { old, new } => {
                let line = |sign: &str, parts: &Option<Vec<Part>>| match parts {
                    Some(parts) => format!("{sign} {}\n", marked(parts)),
                    None => String::new(),
                };
                line("-", old) + &line("+", new)
            }
        };
        rows(&field).iter().map(row).collect()
    }

    #[test]
    fn words_that_differ_are_marked() {
        for (old, new, marked_old, marked_new) in [
            ("\"10Gi\"", "\"8Gi\"", "\"[10Gi]\"", "\"[8Gi]\""),
            (
                "\"ghcr.io/acme/web:1.0.0\"",
                "\"ghcr.io/acme/web:1.1.0-rc.1\"",
                "\"ghcr.io/acme/web:[1.0.0]\"",
                "\"ghcr.io/acme/web:[1.1.0-rc.1]\"",
            ),
            ("a b c", "a c", "a [b ]c", "a c"),
            ("1", "2", "[1]", "[2]"),
            ("--a=1 --b", "x/y/z", "--a=1 --b", "x/y/z"),
            ("größe ü", "größe ö", "größe [ü]", "größe [ö]"),
            ("", "x", "", "[x]"),
        ] {
            let (left, right) = words(old, new);
            assert_eq!(
                (marked(&left), marked(&right)),
                (marked_old.to_owned(), marked_new.to_owned())
            );
        }
    }

    #[test]
    fn values_are_shown_as_people_read_them() {
        for (old, new, expected) in [
            (Some("2"), Some("3"), "- [2]\n+ [3]\n"),
            (None, Some("\"x\""), "+ \"x\"\n"),
            (Some("true"), None, "- true\n"),
            (
                None,
                Some(r#"{"b":[1,"2"],"a":null}"#),
                "+ a: null\n+ b:\n+ - 1\n+ - \"2\"\n",
            ),
            (Some("**"), Some("**"), "  **\n"),
            (Some("\"a\\nb\\n\""), Some("\"a\\nc\\n\""), "  a\n- [b]\n+ [c]\n"),
            (Some("\"\""), Some("\"a\\nb\""), "- \n+ [a]\n+ b\n"),
        ] {
            assert_eq!(text(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn equal_lines_far_from_differences_are_counted() {
        let lines = |changed: &str| {
            let lines: Vec<String> = (0..20).map(|n| format!("line {n}")).collect();
            serde_json::to_string(&lines.join("\n").replace("line 9", changed)).unwrap()
        };
        let (old, new) = (lines("line 9"), lines("other 9"));
        assert_eq!(
            text(Some(&old), Some(&new)),
            "@ 7\n  line 7\n  line 8\n- [line] 9\n+ [other] 9\n  line 10\n  line 11\n@ 8\n"
        );
    }

    /// What a tenant writes has a million words.
    #[test]
    fn huge_values_are_not_compared_word_by_word() {
        let many = |word: &str| format!("\"{}\"", format!("{word} ").repeat(500_000));
        let shown = text(Some(&many("a")), Some(&many("b")));
        assert_eq!(shown.lines().count(), 2);
    }
}
