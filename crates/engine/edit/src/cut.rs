//! Texts cut at ranges of bytes.

use std::ops::Range;

/// Why a file is not edited whose reader is wrong about its bytes.
pub(super) const OUTSIDE: &str = "the place of a value is not a part of the file";

/// A text cut at both ends of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut<'t> {
    /// What is in the range.
    pub(super) inside: &'t str,
    /// What comes after it.
    pub(super) after: &'t str,
}

impl<'t> Cut<'t> {
    /// `None` unless the range is a part of the text that begins and ends between characters.
    pub(super) fn at(text: &'t str, range: &Range<usize>) -> Option<Self> {
        let (whole, after) = text.split_at_checked(range.end)?;
        let (_, inside) = whole.split_at_checked(range.start)?;
        Some(Self { inside, after })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Cut;

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn a_range_that_is_not_a_part_of_the_text_cuts_nothing() {
        let cut = Cut::at("a\u{e9}bc", &(1..3)).unwrap();
        assert_eq!((cut.inside, cut.after), ("\u{e9}", "bc"));
        assert!(
            [1..2, 2..3, 4..9, 9..9, 3..1]
                .iter()
                .all(|range| Cut::at("a\u{e9}bc", range).is_none())
        );
    }
}
