//! What the scanner makes of text: tokens, the marks they stand at, and what can be wrong with them.

use super::node::Style;
use std::borrow::Cow;

/// A position in the text. Everything counts from 0 and in characters; a line ends as YAML 1.1 has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Characters before it.
    pub(crate) index: usize,
    /// Lines before it.
    pub(crate) line: u32,
    /// Characters before it in its line.
    pub(crate) column: u32,
}

/// A token and where it begins and ends.
#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    pub(crate) start: Mark,
    pub(crate) end: Mark,
    pub(crate) kind: TokenKind<'a>,
}

/// The tokens of YAML 1.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenKind<'a> {
    StreamStart,
    StreamEnd,
    Version { major: u8, minor: u8 },
    TagDirective { handle: &'a str, prefix: Cow<'a, str> },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    Tag { handle: &'a str, suffix: Cow<'a, str> },
    Scalar(Cow<'a, str>, Style),
}

/// Text that is not YAML: go-yaml's words, and the two marks that it knows.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// What was being read, in go-yaml's words; empty where it says nothing.
    pub(crate) context: &'static str,
    /// Where that began; the start of the text where go-yaml knows none.
    pub(crate) context_mark: Mark,
    /// What is wrong.
    pub(crate) problem: Cow<'static, str>,
    /// Where.
    pub(crate) mark: Mark,
    /// Whether the scanner found it, and not the parser: go-yaml counts the lines of the two differently.
    pub(crate) scanner: bool,
}

/// Length in bytes of the line break at the start of `rest`; 0 where there is none.
pub(crate) const fn break_length(rest: &[u8]) -> usize {
    match rest {
        [b'\r', b'\n', ..] | [0xC2, 0x85, ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        [0xE2, 0x80, 0xA8 | 0xA9, ..] => 3,
        _ => 0,
    }
}

/// Whether the text ends, or a blank or a line break stands, at the start of `rest`.
pub(crate) const fn is_blank_or_end(rest: &[u8]) -> bool {
    matches!(rest, [] | [b' ' | b'\t', ..]) || break_length(rest) > 0
}

/// Length in bytes of the character that begins with `byte`.
pub(crate) const fn width(byte: u8) -> usize {
    match byte {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// ASCII characters that mean nothing behind the first character of a scalar, whatever it is read or written as.
const INERT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 0x7F {
        #[allow(clippy::indexing_slicing)] // 256 bytes, 256 places
        {
            table[byte as usize] = byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'-' | b'_' | b'.' | b'/' | b'(' | b')' | b'=' | b'+' | b'$' | b';' | b'~' | b'^' | b'@'
                );
        }
        byte += 1;
    }
    table
};

/// Whether a byte is a character that means nothing behind the first character of a scalar.
pub(crate) fn is_inert(byte: u8) -> bool {
    INERT.get(usize::from(byte)).copied().unwrap_or(false)
}

/// How many bytes at the start mean nothing behind the first character of a scalar.
pub(crate) fn inert_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_inert(*byte)).unwrap_or(bytes.len())
}
