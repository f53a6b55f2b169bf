//! Splits a file of resources into documents as kyaml does: at lines that begin with `---`.

use super::error::ReadError;
use crate::place::{FileId, Place};
use bumpwright_text::Parts;

/// The text of a document and the number of lines before it.
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: u32,
}

/// The parts of a text whose lines end in `\n`. The line break before a separator belongs to the part above.
pub(crate) fn parts(text: &str, file: FileId) -> Result<Vec<Part<'_>>, ReadError> {
    let mut parts = Vec::new();
    let (mut from, mut from_line) = (0, 0);
    let (mut at, mut line) = (0, 0);
    while let Some(end) = text
        .get(at..)
        .and_then(|rest| rest.find('\n'))
        .map(|length| at + length)
    {
        let separator = text.get(at..end).filter(|row| at > from && row.starts_with("---"));
        if let Some(separator) = separator {
            check(
                separator,
                Place {
                    file,
                    line: line + 1,
                    column: 1,
                },
            )?;
            let text = text.part(from..at);
            parts.push(Part { text, line: from_line });
            (from, from_line) = (end + 1, line + 1);
        }
        at = end + 1;
        line += 1;
    }
    let text = text.tail(from);
    parts.push(Part { text, line: from_line });
    Ok(parts)
}

/// Checks that only a comment follows `---`.
fn check(separator: &str, place: Place) -> Result<(), ReadError> {
    let rest = separator.tail(3).trim();
    if rest.is_empty() || rest.starts_with('#') {
        Ok(())
    } else {
        Err(ReadError::kyaml(
            place,
            format!("invalid document separator: {}", separator.trim()),
        ))
    }
}
