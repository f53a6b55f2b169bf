//! The lines of entries in block mappings, and their reindentation.

use std::ops::Range;

use bumpwright_api::tree::{Entry, Node};
use bumpwright_text::Parts;

/// The lines of an entry of a block mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// Start of the comment lines directly above the key, or of the key's line.
    pub(super) head: usize,
    /// Start of the key's line.
    pub(super) key: usize,
    /// End of the entry's last line, including comments below it that are indented deeper than the key.
    pub(super) end: usize,
}

impl Region {
    pub(super) fn all(&self) -> Range<usize> {
        self.head..self.end
    }
}

/// The start of the line with an offset.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |newline| newline + 1)
}

/// The end of the line with an offset, including the line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|rest| rest.find('\n'))
        .map_or(text.len(), |newline| at + newline + 1)
}

/// The line break of the line with an offset; at the end of a text without one, that of its first line.
pub(super) fn line_break(text: &str, at: usize) -> &'static str {
    let line = text.part(..line_end(text, at));
    let line = if line.ends_with('\n') {
        line
    } else {
        text.part(..line_end(text, 0))
    };
    if line.ends_with("\r\n") { "\r\n" } else { "\n" }
}

/// The text before an offset on its line, without a byte order mark.
pub(super) fn before(text: &str, at: usize) -> &str {
    let line = text.part(line_start(text, at)..at);
    line.trim_start_matches('\u{feff}')
}

/// The lines of the entry with this key in a block mapping; `None` when the key does not begin its line.
pub(super) fn region(text: &str, map: &Node, key: &str) -> Option<Region> {
    let index = map.entries().iter().position(|entry| entry.is(key))?;
    let entry = map.entries().get(index)?;
    let start = key_line(text, entry)?;
    let previous = index.checked_sub(1).and_then(|index| map.entries().get(index));
    let floor = previous.map_or(0, |entry| region_end(text, entry));
    let mut head = start;
    while head > floor {
        let above = line_start(text, head - 1);
        if above < floor || !is_comment(text, above) {
            break;
        }
        head = above;
    }
    Some(Region {
        head,
        key: start,
        end: region_end(text, entry),
    })
}

/// The start of a key's line, if only spaces precede the key.
pub(super) fn key_line(text: &str, entry: &Entry) -> Option<usize> {
    let at = entry.key.span.start;
    before(text, at)
        .bytes()
        .all(|byte| byte == b' ')
        .then(|| line_start(text, at))
}

fn is_comment(text: &str, line: usize) -> bool {
    let line = text.part(line..line_end(text, line));
    line.trim_start_matches([' ', '\t']).starts_with('#')
}

/// The end of the last line of an entry.
fn region_end(text: &str, entry: &Entry) -> usize {
    let mut end = line_end(text, entry.node.span.end);
    let mut at = end;
    while at < text.len() {
        let next = line_end(text, at);
        let line = text.part(at..next);
        let content = line.trim_start_matches(' ');
        if content.starts_with('#') && line.len() - content.len() > entry.key.column() {
            end = next;
        } else if !content.trim().is_empty() {
            break;
        }
        at = next;
    }
    end
}

/// The lines below the key of a region, divided among the entries of its mapping: each gets the lines from the end of
/// the one before it, the last one all that remain.
pub(super) fn shares(text: &str, map: &Node, end: usize) -> Option<Vec<Range<usize>>> {
    let entries = map.entries();
    let mut at = line_start(text, entries.first()?.key.span.start);
    // Comments between the key of the mapping and its first entry.
    while at > 0 && is_comment_or_blank(text, line_start(text, at - 1)) {
        at = line_start(text, at - 1);
    }
    let mut shares = Vec::with_capacity(entries.len());
    for (n, entry) in entries.iter().enumerate() {
        key_line(text, entry)?;
        let to = if n + 1 == entries.len() {
            end
        } else {
            region_end(text, entry)
        };
        shares.push(at..to);
        at = to;
    }
    Some(shares)
}

fn is_comment_or_blank(text: &str, line: usize) -> bool {
    let line = text.part(line..line_end(text, line)).trim();
    line.is_empty() || line.starts_with('#')
}

/// A replacement inside lines that move.
pub(super) type Change = (Range<usize>, String);

/// The lines of a range with changes, moved by `delta` columns. Ends with a line break.
pub(super) fn moved(text: &str, range: Range<usize>, changes: &[Change], delta: isize) -> String {
    let newline = line_break(text, range.start);
    let changed = changed(text, range, changes);
    let mut out = String::with_capacity(changed.len() + 32);
    for line in changed.split_inclusive('\n') {
        push_line(&mut out, line, delta);
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(newline);
    }
    out
}

/// The comment lines above a key in this column, moved by `delta` columns, and not deeper than the key: below a block
/// scalar they would become part of it.
pub(super) fn comments_moved(text: &str, range: Range<usize>, column: usize, delta: isize) -> String {
    let mut out = String::new();
    for line in text.part(range).split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = line.part(indent.saturating_sub(column)..);
        push_line(&mut out, line, delta);
    }
    out
}

/// The bytes of a range with changes, which are in order.
pub(super) fn changed(text: &str, range: Range<usize>, changes: &[Change]) -> String {
    let mut out = String::new();
    let mut at = range.start;
    for (span, new) in changes {
        out.push_str(text.part(at..span.start));
        out.push_str(new);
        at = span.end;
    }
    out.push_str(text.part(at..range.end));
    out
}

/// Appends a reindented line. Empty lines stay empty; lines of blanks are moved, too, since they may be content
/// of a block scalar.
fn push_line(out: &mut String, line: &str, delta: isize) {
    if line.trim_end_matches(['\r', '\n']).is_empty() {
        return out.push_str(line);
    }
    let by = delta.unsigned_abs();
    if delta >= 0 {
        out.extend(std::iter::repeat_n(' ', by));
        return out.push_str(line);
    }
    let spaces = line.bytes().take_while(|byte| *byte == b' ').count().min(by);
    out.push_str(line.tail(spaces));
}

/// The same for text that begins inside a line.
pub(super) fn moved_below(text: &str, delta: isize) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (n, line) in text.split_inclusive('\n').enumerate() {
        push_line(&mut out, line, if n == 0 { 0 } else { delta });
    }
    out
}

/// A number of spaces.
pub(super) fn spaces(count: usize) -> String {
    " ".repeat(count)
}

/// The signed distance of two columns.
pub(super) fn distance(from: usize, to: usize) -> isize {
    to.cast_signed() - from.cast_signed()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use bumpwright_api::tree::parse_as_written;

    fn of(text: &str, key: &str) -> (String, String) {
        let root = &parse_as_written(text).unwrap()[0];
        let region = region(text, root, key).unwrap();
        (
            text[region.head..region.key].to_owned(),
            text[region.key..region.end].to_owned(),
        )
    }

    #[test]
    fn an_entry_has_the_comments_above_it_and_the_deeper_ones_below() {
        let text =
            "# file\n\n# a\na: 1 # one\n  # deep\n\n  # deeper\n# b1\n # b2\nb:\n  c: |\n    x\n    # text\n\n# end\n";
        assert_eq!(
            of(text, "a"),
            ("# a\n".into(), "a: 1 # one\n  # deep\n\n  # deeper\n".into())
        );
        assert_eq!(of(text, "b").0, "# b1\n # b2\n");
        assert_eq!(of(text, "b").1, "b:\n  c: |\n    x\n    # text\n");
    }

    #[test]
    fn lines_move_and_empty_ones_do_not() {
        let text = "a: |\n  x\n\n   \n";
        assert_eq!(moved(text, 0..text.len(), &[], 2), "  a: |\n    x\n\n     \n");
        assert_eq!(moved("  a:\r\n# c\r\n    b", 0..16, &[], -2), "a:\r\n# c\r\n  b\r\n");
    }
}
