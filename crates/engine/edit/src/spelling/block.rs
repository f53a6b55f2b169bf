//! Block scalars: the layout of header and content, and of new content.

use std::ops::Range;

use crate::find::remark::Header;
use crate::site::{BlockShape, Spelling};

/// The bytes of a block scalar's content and its shape; the content ends at `end` at the latest. `None` where the place
/// is not a part of the text.
pub(crate) fn shape(
    text: &str,
    header: Header,
    start: usize,
    end: usize,
    value: &str,
) -> Option<(Range<usize>, Spelling)> {
    let (_, rest) = text.split_at_checked(start + 1)?;
    let length = rest
        .bytes()
        .take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-'))
        .count();
    let indicators = start + 1..start + 1 + length;
    let indicators_text = rest.split_at(length).0.to_owned();
    let (header_line, after) = rest.split_at(rest.find(['\n', '\r']).unwrap_or(rest.len()));
    let header_end = start + 1 + header_line.len();
    let line_break = line_break(after);
    let body_start = header_end + line_break.len();
    let body = text.get(body_start..end.max(body_start))?;
    let (span, indent, lead) = match indentation(body, value) {
        Some(indent) => (body_start..body_start + length_to_last_line(body, indent), indent, ""),
        None => {
            let digit = indicators_text.chars().find_map(|c| c.to_digit(10));
            let digit = digit.and_then(|digit| usize::try_from(digit).ok());
            let indent = usize::try_from(header.indent).unwrap_or(0) + digit.unwrap_or(2);
            // Blank lines longer than the new indentation would become content.
            let blanks = match length_to_last_line(body, indent) {
                0 => 0,
                length => line_break.len() + length,
            };
            let lead = if line_break.is_empty() { "\n" } else { line_break };
            (header_end..header_end + blanks, indent, lead)
        }
    };
    let lead = lead.to_owned();
    let shape = BlockShape {
        indicators,
        indicators_text,
        indent,
        lead,
    };
    Some((span, Spelling::Block(shape)))
}

fn line_break(text: &str) -> &str {
    let length = match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    };
    text.split_at(length).0
}

/// Indentation of the body's lines; `None` when all lines are blank.
fn indentation(body: &str, value: &str) -> Option<usize> {
    let is_content = |line: &&str| line.contains(|c: char| c != ' ');
    let written = body.split(['\n', '\r']).find(is_content)?;
    let read = value.split('\n').find(is_content)?;
    let leading = |line: &str| line.len() - line.trim_start_matches(' ').len();
    Some(leading(written).saturating_sub(leading(read)))
}

/// Length of the body up to the end (without line break) of its last line that is longer than `indent`.
fn length_to_last_line(body: &str, indent: usize) -> usize {
    let mut content = body;
    while let Some(at) = content.rfind(['\n', '\r']) {
        let (before, line) = content.split_at(at);
        // With its break.
        if line.len() > indent + 1 {
            return content.len();
        }
        content = before;
    }
    if content.len() > indent { content.len() } else { 0 }
}
