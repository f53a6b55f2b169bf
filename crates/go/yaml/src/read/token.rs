//! The output of the scanner: tokens, their marks, and faults.

use crate::node::Style;
use std::borrow::Cow;

/// A position in the text. Everything counts from 0 and in characters; lines end as YAML 1.1 defines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Characters before it.
    pub(crate) index: usize,
    /// Lines before it.
    pub(crate) line: u32,
    /// Characters before it in its line.
    pub(crate) column: u32,
}

/// A token with its start and end.
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

/// Text that is not YAML: go-yaml's words, and its two marks.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// What was being read, in go-yaml's words; empty where it does not say.
    pub(crate) context: &'static str,
    /// Where that began; the start of the text where go-yaml does not say.
    pub(crate) context_mark: Mark,
    pub(crate) problem: Cow<'static, str>,
    /// The mark of the problem.
    pub(crate) mark: Mark,
    /// Whether the scanner found it, and not the parser: go-yaml counts the lines of the two differently.
    pub(crate) scanner: bool,
}

/// Length in bytes of the line break at the start of `rest`; 0 if absent.
pub(crate) const fn break_length(rest: &[u8]) -> usize {
    match rest {
        [b'\r', b'\n', ..] | [0xC2, 0x85, ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        [0xE2, 0x80, 0xA8 | 0xA9, ..] => 3,
        _ => 0,
    }
}

/// Whether the text ends, or a blank or a line break is, at the start of `rest`.
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

/// ASCII characters without a meaning after the first character of a scalar, in any style.
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

/// Whether a byte is a character without a meaning after the first character of a scalar.
pub(crate) fn is_inert(byte: u8) -> bool {
    INERT.get(usize::from(byte)).copied().unwrap_or(false)
}

/// The number of bytes at the start without a meaning after the first character of a scalar.
pub(crate) fn inert_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_inert(*byte)).unwrap_or(bytes.len())
}
