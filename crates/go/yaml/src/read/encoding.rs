//! Decodes bytes to text: UTF-8 or UTF-16 by byte order mark, and only characters that YAML allows.

use super::error::ReadError;
use crate::place::{FileId, Place};
use bumpwright_text::{Cuts, Parts};
use std::borrow::Cow;

/// The text of a file.
///
/// # Errors
/// For invalid encodings and control characters, with Go's words.
pub(crate) fn text_of(bytes: &[u8], file: FileId) -> Result<Cow<'_, str>, ReadError> {
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes, file)?.into(),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes, file)?.into(),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(error) => {
                let valid = bytes.part(..error.valid_up_to());
                let rest = bytes.part(error.valid_up_to()..);
                let before = std::str::from_utf8(valid).unwrap_or_default();
                return Err(ReadError::yaml(place_after(before, file), utf8_problem(rest)));
            }
        },
    };
    match forbidden(&text) {
        Some(at) => {
            let place = place_after(text.part(..at), file);
            Err(ReadError::yaml(place, "control characters are not allowed"))
        }
        None => Ok(text),
    }
}

/// The position of the first character that YAML does not allow.
pub(crate) fn forbidden(text: &str) -> Option<usize> {
    let plain = |byte: u8| (0x20..0x7F).contains(&byte) | (byte == b'\n') | (byte == b'\t') | (byte == b'\r');
    if text.bytes().fold(true, |all, byte| all & plain(byte)) {
        return None;
    }
    let allowed = |ch: char| matches!(ch, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    text.char_indices().find(|(_, ch)| !allowed(*ch)).map(|(at, _)| at)
}

fn utf8_problem(rest: &[u8]) -> &'static str {
    let (&first, tail) = match rest.split_first() {
        Some(split) => split,
        None => return "incomplete UTF-8 octet sequence",
    };
    let more = match first {
        0x80..0xC0 | 0xF8.. => return "invalid leading UTF-8 octet",
        0..0xE0 => 1,
        0xE0..0xF0 => 2,
        _ => 3,
    };
    match tail.get(..more) {
        None => "incomplete UTF-8 octet sequence",
        Some(tail) if tail.iter().any(|byte| byte & 0xC0 != 0x80) => "invalid trailing UTF-8 octet",
        Some(tail) => match (first, tail) {
            (0xC0 | 0xC1, _) | (0xE0, [..0xA0, ..]) | (0xF0, [..0x90, ..]) => "invalid length of a UTF-8 sequence",
            _ => "invalid Unicode character",
        },
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, file: FileId) -> Result<String, ReadError> {
    let mut pairs = bytes.chunks_exact(2);
    let units = pairs.by_ref().map(|pair| match pair {
        [low, high] => unit([*low, *high]),
        _ => 0,
    });
    let mut text = String::with_capacity(bytes.len() / 2);
    for character in char::decode_utf16(units) {
        match character {
            Ok(character) => text.push(character),
            Err(error) => {
                let problem = match error.unpaired_surrogate() {
                    0xDC00.. => "unexpected low surrogate area",
                    _ => "expected low surrogate area",
                };
                return Err(ReadError::yaml(place_after(&text, file), problem));
            }
        }
    }
    match bytes.len() % 2 {
        0 => Ok(text),
        _ => Err(ReadError::yaml(place_after(&text, file), "incomplete UTF-16 character")),
    }
}

/// The place right after `before`.
fn place_after(before: &str, file: FileId) -> Place {
    let line = before.bytes().filter(|byte| *byte == b'\n').count();
    let column = before.behind_last('\n').chars().count();
    let number = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    Place {
        file,
        line: number(line),
        column: number(column),
    }
}
