//! Removal of entries: their lines in a block mapping, their bytes and a comma in a flow mapping.

use std::ops::Range;

use super::lines::{before, line_end, line_start, region};
use bumpwright_api::tree::Node;

/// The bytes to delete to remove the entry of `key`. Comments above it stay; a comment on its line is removed with it.
/// `None` when the layout does not permit it, such as the only entry of a block mapping.
#[must_use]
pub fn removal(text: &str, map: &Node, key: &str) -> Option<Range<usize>> {
    let index = map.entries().iter().position(|entry| entry.is(key))?;
    if map.is_flow() {
        return flow_removal(map, index);
    }
    if map.entries().len() == 1 {
        return None;
    }
    let region = region(text, map, key)?;
    // Deeper comments below belong to the entry only if it has lines of its own there.
    let end = line_end(text, map.entries().get(index)?.node.span.end);
    Some(region.key..end)
}

/// The bytes up to the next entry, or from the end of the one before.
fn flow_removal(map: &Node, index: usize) -> Option<Range<usize>> {
    let entry = map.entries().get(index)?;
    if let Some(next) = map.entries().get(index + 1) {
        return Some(entry.key.span.start..next.key.span.start);
    }
    match index.checked_sub(1).and_then(|index| map.entries().get(index)) {
        Some(previous) => Some(previous.node.span.end..entry.node.span.end),
        None => Some(entry.key.span.start..entry.node.span.end),
    }
}

/// Whether the entries of a flow collection are on lines of their own.
pub(super) fn is_tall(text: &str, map: &Node) -> bool {
    map.entries().first().is_some_and(|entry| {
        let at = entry.key.span.start;
        line_start(text, at) > map.span.start && before(text, at).trim().is_empty()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use bumpwright_api::tree::parse_as_written;

    fn without(text: &str, key: &str) -> Option<String> {
        let root = &parse_as_written(text).unwrap()[0];
        let gone = removal(text, root, key)?;
        Some(format!("{}{}", &text[..gone.start], &text[gone.end..]))
    }

    #[test]
    fn entries_go_with_their_line_or_comma() {
        assert_eq!(
            without("a: 1\n# c\nb: 2 # d\nc: 3\n", "b").unwrap(),
            "a: 1\n# c\nc: 3\n"
        );
        assert_eq!(without("a: 1\n", "a"), None);
        assert_eq!(without("{a: 1, b: 2, c: 3}", "b").unwrap(), "{a: 1, c: 3}");
        assert_eq!(without("{a: 1, b: 2}", "b").unwrap(), "{a: 1}");
        assert_eq!(
            without("{\n  \"a\": 1,\n  \"b\": 2\n}", "a").unwrap(),
            "{\n  \"b\": 2\n}"
        );
        assert_eq!(without("{a: 1}", "a").unwrap(), "{}");
    }
}
