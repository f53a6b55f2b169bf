//! The text of an expression by code points and lines.

/// The text of an expression. Offsets are in code points; lines end with `\n`.
#[derive(Clone, Debug)]
pub struct SourceText {
    chars: Vec<char>,
    line_starts: Vec<i32>,
}

/// Line, from 1, and column, from 0; `-1, -1` is nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub line: i32,
    pub column: i32,
}

impl Location {
    pub const NOWHERE: Self = Self { line: -1, column: -1 };
}

impl SourceText {
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let breaks = (1..).zip(&chars).filter(|(_, c)| **c == '\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(after, _)| after)).collect();
        Self { chars, line_starts }
    }

    pub fn len(&self) -> usize {
        self.chars.len()
    }

    pub fn get(&self, index: usize) -> Option<char> {
        self.chars.get(index).copied()
    }

    pub fn slice(&self, start: usize, end: usize) -> String {
        let end = end.min(self.chars.len());
        self.chars.get(start..end).into_iter().flatten().collect()
    }

    pub fn location(&self, offset: i32) -> Location {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        Location {
            line: i32::try_from(line).unwrap_or(i32::MAX),
            column: offset - start,
        }
    }

    /// The text of a line, if it exists.
    pub(crate) fn snippet(&self, line: i32) -> Option<&[char]> {
        if self.chars.is_empty() {
            return None;
        }
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = usize::try_from(*self.line_starts.get(index)?).ok()?;
        let end = match self.line_starts.get(index + 1) {
            Some(next) => usize::try_from(*next).ok()?.checked_sub(1)?,
            None => self.chars.len(),
        };
        self.chars.get(start..end)
    }
}
