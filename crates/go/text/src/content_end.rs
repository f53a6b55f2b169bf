//! Where the content of a text ends.

/// The place behind the last content of a text. What is wrong at the end of a file is shown there: the line after it is
/// empty, and not one of the file's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentEnd {
    /// In bytes.
    pub offset: usize,
    /// The line, from 0.
    pub line: usize,
    /// The characters before it in its line.
    pub column: usize,
    /// The characters before it in the text.
    pub characters: usize,
}

impl ContentEnd {
    /// The end of the content of a text, which is all but the blanks at its end.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let content = text.trim_end();
        let last = content
            .rfind('\n')
            .map_or(content, |at| content.get(at + 1..).unwrap_or(content));
        Self {
            offset: content.len(),
            line: content.matches('\n').count(),
            column: last.chars().count(),
            characters: content.chars().count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ends_before_blanks_and_empty_lines() {
        for (text, offset, line, column, characters) in [
            ("", 0, 0, 0, 0),
            (" \n\n", 0, 0, 0, 0),
            ("a: é", 5, 0, 4, 4),
            ("a: é\n", 5, 0, 4, 4),
            ("é:\n  b: [ \r\n\n", 10, 1, 6, 9),
        ] {
            let end = ContentEnd {
                offset,
                line,
                column,
                characters,
            };
            assert_eq!(ContentEnd::of(text), end, "{text:?}");
        }
    }
}
