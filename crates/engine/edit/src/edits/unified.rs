//! A unified diff for `git apply`, for any bytes.

use std::ops::Range;

use bumpwright_text::Parts;
use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// Lines of context around a change, as in git.
const CONTEXT: u32 = 3;

/// Appends the diff of one file whose mode does not change; `path` is relative to the repository's root.
pub fn append(out: &mut Vec<u8>, path: &[u8], old: &[u8], new: &[u8]) {
    header(out, path, false);
    hunks(out, old, new);
}

/// Appends a file that is not there yet, as git has it.
pub fn append_new(out: &mut Vec<u8>, path: &[u8], new: &[u8]) {
    header(out, path, true);
    hunks(out, b"", new);
}

fn hunks(out: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    let diff = compared(old, new);
    let before: Vec<&[u8]> = lines(old).0.collect();
    let after: Vec<&[u8]> = lines(new).0.collect();
    for group in groups(&diff) {
        hunk(out, &group, &before, &after);
    }
}

/// The changed lines between two contents, as ranges of lines from 0: those of the old one, and those in their place.
#[must_use]
pub fn changed_lines(old: &[u8], new: &[u8]) -> Vec<(Range<usize>, Range<usize>)> {
    let range = |lines: Range<u32>| lines.start as usize..lines.end as usize;
    let diff = compared(old, new);
    let hunks = diff.hunks().map(|hunk| (range(hunk.before), range(hunk.after)));
    hunks.collect()
}

fn compared(old: &[u8], new: &[u8]) -> Diff {
    let input = InternedInput::new(lines(old), lines(new));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    diff
}

/// The header lines, without an `index` line: a preview has no ids.
fn header(out: &mut Vec<u8>, path: &[u8], is_new: bool) {
    let (a, b) = (quoted(b"a/", path), quoted(b"b/", path));
    // As in git, a tab ends a name with blanks, so that patch(1) finds its end.
    let end: &[u8] = if path.contains(&b' ') { b"\t\n" } else { b"\n" };
    let from = if is_new {
        b"new file mode 100644\n--- /dev/null\n".to_vec()
    } else {
        [b"--- ".as_slice(), &a, end].concat()
    };
    let pieces: [&[u8]; 9] = [b"diff --git ", &a, b" ", &b, b"\n", &from, b"+++ ", &b, end];
    for piece in pieces {
        out.extend_from_slice(piece);
    }
}

/// The name as in git: in C quotes if it contains quotes, backslashes or control characters.
fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let plain = path.iter().all(|b| *b >= 0x20 && !matches!(b, b'"' | b'\\' | 0x7f));
    let mut out = Vec::with_capacity(path.len() + 4);
    if plain {
        out.extend_from_slice(prefix);
        out.extend_from_slice(path);
        return out;
    }
    out.push(b'"');
    out.extend_from_slice(prefix);
    for byte in path {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x20..=0x7e | 0x80.. => out.push(*byte),
            _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    out.push(b'"');
    out
}

/// The lines of a file, each with its line feed.
pub(crate) fn lines(bytes: &[u8]) -> Lines<'_> {
    Lines(bytes.split_inclusive(|b| *b == b'\n'))
}

/// A token source for the diff: only `\n` ends a line.
pub(crate) struct Lines<'a>(std::slice::SplitInclusive<'a, u8, fn(&u8) -> bool>);

impl<'a> imara_diff::TokenSource for Lines<'a> {
    type Token = &'a [u8];
    type Tokenizer = std::slice::SplitInclusive<'a, u8, fn(&u8) -> bool>;

    fn tokenize(&self) -> Self::Tokenizer {
        self.0.clone()
    }

    fn estimate_tokens(&self) -> u32 {
        100
    }
}

/// Groups changes whose contexts overlap.
fn groups(diff: &Diff) -> Vec<Vec<Hunk>> {
    let mut out: Vec<Vec<Hunk>> = Vec::new();
    for change in diff.hunks() {
        match out.last_mut() {
            Some(group)
                if group
                    .last()
                    .is_some_and(|last| change.before.start - last.before.end <= 2 * CONTEXT) =>
            {
                group.push(change);
            }
            _ => out.push(vec![change]),
        }
    }
    out
}

/// One hunk of the output.
fn hunk(out: &mut Vec<u8>, group: &[Hunk], before: &[&[u8]], after: &[&[u8]]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return;
    };
    let lead = first.before.start.min(CONTEXT);
    let total = u32::try_from(before.len()).unwrap_or(u32::MAX);
    let tail = (total - last.before.end).min(CONTEXT);
    let old = first.before.start - lead..last.before.end + tail;
    let new = first.after.start - lead..last.after.end + tail;
    out.extend_from_slice(format!("@@ -{} +{} @@\n", range(&old), range(&new)).as_bytes());
    let mut at = old.start;
    for change in group {
        emit(out, b' ', before, at..change.before.start);
        emit(out, b'-', before, change.before.clone());
        emit(out, b'+', after, change.after.clone());
        at = change.before.end;
    }
    emit(out, b' ', before, at..old.end);
}

/// A range as in git: from 1, without the length when it is 1, the line before when it is empty.
fn range(lines: &Range<u32>) -> String {
    match lines.end - lines.start {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        n => format!("{},{n}", lines.start + 1),
    }
}

/// Writes lines with their sign; a line without a line feed gets git's remark.
fn emit(out: &mut Vec<u8>, sign: u8, lines: &[&[u8]], range: Range<u32>) {
    for line in lines.part(range.start as usize..range.end as usize) {
        out.push(sign);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn diff(path: &str, old: &str, new: &str) -> String {
        let mut out = Vec::new();
        append(&mut out, path.as_bytes(), old.as_bytes(), new.as_bytes());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_line_of_a_long_file() {
        let old: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 10\n", "line ten\n");
        let body = " line 7\n line 8\n line 9\n-line 10\n+line ten\n line 11\n line 12\n line 13\n";
        let head = "diff --git a/x.yaml b/x.yaml\n--- a/x.yaml\n+++ b/x.yaml\n@@ -7,7 +7,7 @@\n";
        assert_eq!(diff("x.yaml", &old, &new), format!("{head}{body}"));
    }

    #[test]
    fn near_changes_share_a_hunk_and_far_ones_do_not() {
        let old: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let near = old.replace("\n10\n", "\nx\n").replace("\n16\n", "\ny\n");
        assert_eq!(diff("f", &old, &near).matches("@@ -").count(), 1);
        let far = old.replace("\n10\n", "\nx\n").replace("\n18\n", "\ny\n");
        assert_eq!(diff("f", &old, &far).matches("@@ -").count(), 2);
    }

    #[test]
    fn a_missing_final_newline_and_crlf_stay() {
        let text = diff("f", "a\r\nb", "a\r\nc");
        assert!(
            text.ends_with(
                "@@ -1,2 +1,2 @@\n a\r\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn odd_names_are_quoted_as_git_does() {
        assert!(diff("a \"b\".yaml", "1\n", "2\n").starts_with("diff --git \"a/a \\\"b\\\".yaml\" "));
        assert!(diff("with blank", "1\n", "2\n").contains("--- a/with blank\t\n"));
        assert!(diff("ünï", "1\n", "2\n").contains("+++ b/ünï\n@@ -1 +1 @@"));
        let controls = diff("a\tb\n\\\u{1}\u{7f}", "1\n", "2\n");
        let quoted = "\"a/a\\tb\\n\\\\\\001\\177\"";
        assert!(controls.starts_with(&format!("diff --git {quoted} ")), "{controls}");
        assert!(controls.contains(&format!("\n--- {quoted}\n")), "{controls}");
    }

    #[test]
    fn a_new_file() {
        let added = |path: &str| {
            let mut out = Vec::new();
            append_new(&mut out, path.as_bytes(), b"1\n2");
            String::from_utf8(out).unwrap()
        };
        let lines = "@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n";
        let head = "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n";
        assert_eq!(added("f"), format!("{head}{lines}"));
        assert!(added("a b").contains("\n--- /dev/null\n+++ b/a b\t\n"));
    }

    #[test]
    fn changed_lines_are_ranges_from_zero() {
        let changed = changed_lines(b"a\nb\nc\n", b"a\nx\ny\nc\nd");
        assert_eq!(changed, [(1..2, 1..3), (3..3, 4..5)]);
        assert_eq!(changed_lines(b"a\n", b"a\n"), []);
    }
}
