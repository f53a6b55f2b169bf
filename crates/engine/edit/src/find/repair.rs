//! Repairs of YAML that go-yaml accepts and granit does not: bytes are replaced, without moving
//! others, until it parses.
//!
//! The repaired text is only parsed, never written: values and spellings are those of the original.

use granit_parser::{ErrorKind, Event, Parser, ScanError};

/// Bounds on the bytes that are parsed again for repairs, and on the repairs of a file.
const BUDGET: usize = 64 * 1024 * 1024;
const MOST: usize = 1024;

/// The number of repairs for a file of this length.
pub(crate) fn budget(length: usize) -> usize {
    (BUDGET / length.max(1)).clamp(4, MOST)
}

/// The text without the cause of `error`, if go-yaml accepts it.
pub(crate) fn repair(text: &str, error: &ScanError) -> Option<String> {
    let at = error.marker().byte_offset()?;
    let mut bytes = text.as_bytes().to_vec();
    match error.kind() {
        ErrorKind::CommentNotSeparated => move_hash(&mut bytes, text, at)?,
        ErrorKind::TabInIndentation => {
            let tab = bytes.get_mut(at).filter(|byte| **byte == b'\t')?;
            *tab = b' ';
        }
        ErrorKind::InvalidQuotedScalarIndent => join_lines(&mut bytes, at)?,
        // Inside `[]` and `{}`; elsewhere `strict` refuses the tab.
        ErrorKind::TabInBlockIndentation => blank_tabs(&mut bytes, at)?,
        ErrorKind::BomInsideDocument => move_mark(&mut bytes, text, at)?,
        _ => return None,
    }
    String::from_utf8(bytes).ok()
}

/// `"x"#c` becomes `"x" #`: the comment starts one character later.
fn move_hash(bytes: &mut [u8], text: &str, at: usize) -> Option<()> {
    let mut rest = text.get(at..)?.chars();
    rest.next().filter(|&c| c == '#')?;
    let next = rest.next().filter(|c| !matches!(c, '\n' | '\r'));
    *bytes.get_mut(at)? = b' ';
    if let Some(next) = next {
        let place = bytes.get_mut(at + 1..at + 1 + next.len_utf8())?;
        place.fill(b' ');
        *place.first_mut()? = b'#';
    }
    Some(())
}

/// Replaces tabs among the blanks around `at` with spaces.
fn blank_tabs(bytes: &mut [u8], at: usize) -> Option<()> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let before = bytes.get(..at)?.iter().rev().take_while(|byte| is_blank(byte)).count();
    let after = bytes.get(at..)?.iter().take_while(|byte| is_blank(byte)).count();
    let blanks = bytes.get_mut(at - before..at + after)?;
    let has_tab = blanks.contains(&b'\t');
    blanks.fill(b' ');
    has_tab.then_some(())
}

/// Replaces a byte order mark below `---`, as in concatenated files, with blanks at the end of that line.
fn move_mark(bytes: &mut [u8], text: &str, at: usize) -> Option<()> {
    const MARK: usize = '\u{feff}'.len_utf8();
    text.get(at..)?.strip_prefix('\u{feff}')?;
    let before = text.get(..at)?;
    let line = before.trim_end_matches(['\r', '\n']);
    let line_start = line.rfind(['\r', '\n']).map_or(0, |at| at + 1);
    line.get(line_start..)?.strip_prefix("---")?;
    let moved = bytes.get_mut(line.len()..at + MARK)?;
    moved.rotate_right(MARK);
    moved.get_mut(..MARK)?.fill(b' ');
    Some(())
}

/// Replaces the line break before `at` with a blank.
fn join_lines(bytes: &mut [u8], at: usize) -> Option<()> {
    let before = bytes.get_mut(..at)?;
    let end = before.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'))?;
    *before.get_mut(end)? = b' ';
    if let Some(half) = end
        .checked_sub(1)
        .and_then(|at| before.get_mut(at))
        .filter(|byte| **byte == b'\r')
    {
        *half = b' ';
    }
    Some(())
}

/// The value of a quoted scalar, parsed by itself: at the top of a document any indentation is valid.
pub(crate) fn value_of(quoted: &str) -> Option<String> {
    let mut text = quoted.to_owned();
    for _ in 0..MOST {
        let mut failure = None;
        for next in Parser::new_from_str(&text) {
            match next {
                Ok((Event::Scalar(value, ..), _)) => return Some(value.into_owned()),
                Ok(_) => {}
                Err(error) => failure = Some(error),
            }
        }
        text = repair(&text, &failure?)?;
    }
    None
}
