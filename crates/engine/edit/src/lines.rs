//! Lines and columns of byte offsets.

use bumpwright_text::Parts;
use std::cell::Cell;

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) start: usize,
    /// It, without its break.
    pub(super) text: &'a str,
    /// Its break; empty for the last line without one.
    pub(super) line_break: &'a str,
}

/// The starts of the lines of a text.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// The last place: offset and column. The next one mostly follows on the same line, which may be as
    /// long as the text.
    last: Cell<(usize, usize)>,
}

impl<'a> Lines<'a> {
    /// Reads the line breaks (LF, CR LF, CR) of a text.
    pub(super) fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let breaks = memchr::memchr2_iter(b'\n', b'\r', bytes).filter_map(|at| {
            let is_half = bytes.get(at) == Some(&b'\r') && bytes.get(at + 1) == Some(&b'\n');
            (!is_half).then_some(at + 1)
        });
        Self {
            text,
            starts: std::iter::once(0).chain(breaks).collect(),
            last: Cell::default(),
        }
    }

    /// The number of the line of an offset, from 1.
    pub(super) fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The bytes of a line, with its break.
    pub(super) fn range(&self, line: usize) -> Option<std::ops::Range<usize>> {
        let start = *self.starts.get(line.checked_sub(1)?)?;
        Some(start..self.starts.get(line).copied().unwrap_or(self.text.len()))
    }

    /// A line by its number, from 1.
    pub(super) fn line(&self, number: usize) -> Option<Line<'a>> {
        let range = self.range(number)?;
        let whole = self.text.get(range.clone())?;
        let (text, line_break) = whole.split_at(whole.trim_end_matches(['\n', '\r']).len());
        Some(Line {
            start: range.start,
            text,
            line_break,
        })
    }

    /// Whether there are only blanks before the offset in its line.
    pub(super) fn is_first_on_its_line(&self, offset: usize) -> bool {
        let offset = self.text.floor_char_boundary(offset);
        let before = self.text.part(self.start(self.number(offset))..offset);
        before
            .trim_start_matches('\u{feff}')
            .trim_matches([' ', '\t'])
            .is_empty()
    }

    /// Line and column (in characters, a byte order mark not counted), both from 1. An offset within a character or
    /// beyond the end, as a parser may report for an error, is the one before.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.number(offset);
        let start = self.start(line);
        let count = |range: std::ops::Range<usize>| self.text.part(range).chars().count();
        let column = match self.last.get() {
            (at, column) if start < at && at <= offset => column + count(at..offset),
            _ => {
                let before = self.text.part(start..offset);
                before.trim_start_matches('\u{feff}').chars().count() + 1
            }
        };
        self.last.set((offset, column));
        (line, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In any order, each is what it is alone.
    #[test]
    fn a_place_does_not_depend_on_the_one_before() {
        let text = "\u{feff}ab\r\ncé \u{feff}d\re\n\nfg";
        let offsets: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let lines = Lines::of(text);
        for first in &offsets {
            for second in &offsets {
                lines.place(*first);
                assert_eq!(
                    lines.place(*second),
                    Lines::of(text).place(*second),
                    "{first}, {second}"
                );
            }
        }
    }

    #[test]
    fn places_count_from_one_in_characters() {
        let lines = Lines::of("\u{feff}ab\r\ncé d\re\n\nf");
        assert_eq!(lines.place(0), (1, 1));
        assert_eq!(lines.place(4), (1, 2));
        assert_eq!(lines.place(7), (2, 1));
        assert_eq!(lines.place(11), (2, 4));
        assert_eq!(lines.place(13), (3, 1));
        assert_eq!(lines.place(15), (4, 1));
        assert_eq!(lines.place(16), (5, 1));
        // Within é, and beyond the end.
        assert_eq!(lines.place(9), lines.place(8));
        assert_eq!(lines.place(99), (5, 2));
    }
}
