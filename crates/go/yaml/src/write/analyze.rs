//! The styles that a scalar's text allows: plain, single-quoted, block.

use crate::read::token::{break_length, inert_length, is_blank_or_end, is_inert, width};
use bumpwright_text::Parts;

/// The library to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    V2,
    V3,
}

/// The styles that a text allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Plain, inside of `[]` and `{}`.
    pub(crate) flow_plain: bool,
    pub(crate) block_plain: bool,
    pub(crate) single: bool,
    pub(crate) block: bool,
    /// Whether the text has line breaks.
    pub(crate) multiline: bool,
    /// Whether it is one word without special characters.
    pub(crate) simple: bool,
}

/// Whether go-yaml writes the character at the start of `rest` unescaped.
pub(crate) const fn is_printable(rest: &[u8]) -> bool {
    match rest {
        [b'\n' | 0x20..=0x7E, ..] => true,
        [0xC2, next, ..] => *next >= 0xA0,
        [0xEF, 0xBB, 0xBF, ..] | [0xEF, 0xBF, 0xBE | 0xBF, ..] => false,
        [0xC3..=0xEF, ..] => true,
        _ => false,
    }
}

#[derive(Default)]
struct Features {
    block_indicator: bool,
    flow_indicator: bool,
    line_break: bool,
    special: bool,
    tab: bool,
    leading: bool,
    trailing_space: bool,
    trailing_break: bool,
    break_space: bool,
    space_break: bool,
}

/// Analyzes a text in one pass.
pub(crate) fn analyze(text: &str, library: Library) -> Allowed {
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Allowed {
            flow_plain: false,
            block_plain: true,
            single: true,
            block: false,
            multiline: false,
            simple: false,
        };
    }
    if is_simple(bytes) {
        return Allowed {
            flow_plain: true,
            block_plain: true,
            single: true,
            block: true,
            multiline: false,
            simple: true,
        };
    }
    verdict(&observe(bytes, library))
}

/// Letters, digits and characters without a meaning in the middle of a word.
fn is_simple(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(u8::is_ascii_alphanumeric) && inert_length(bytes) == bytes.len()
}

fn observe(bytes: &[u8], library: Library) -> Features {
    let mut features = Features::default();
    if bytes.starts_with(b"---") || bytes.starts_with(b"...") {
        (features.block_indicator, features.flow_indicator) = (true, true);
    }
    let (mut after_blank, mut after_space, mut after_break) = (true, false, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if at > 0 && is_inert(byte) {
            (after_blank, after_space, after_break) = (false, false, false);
            at += 1;
            continue;
        }
        let rest = bytes.part(at..);
        let next = bytes.tail(at + width(byte));
        let (flow, block) = indicator(byte, at == 0, after_blank, next);
        features.flow_indicator |= flow;
        features.block_indicator |= block;
        match (byte, library) {
            (b'\t', Library::V3) => features.tab = true,
            _ => features.special |= !is_printable(rest),
        }
        let is_break = break_length(rest) > 0;
        if byte == b' ' {
            features.leading |= at == 0;
            features.trailing_space |= next.is_empty();
            features.break_space |= after_break;
        } else if is_break {
            features.line_break = true;
            features.leading |= at == 0;
            features.trailing_break |= next.is_empty();
            features.space_break |= after_space;
        }
        (after_space, after_break) = (byte == b' ', is_break);
        after_blank = is_blank_or_end(rest) || byte == 0;
        at += width(byte);
    }
    features
}

/// Whether a character is an indicator in flow and in block context.
const fn indicator(byte: u8, first: bool, after_blank: bool, next: &[u8]) -> (bool, bool) {
    let spaced = matches!(next, [] | [b' ' | b'\t', ..]);
    match (byte, first) {
        (
            b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
            | b'`',
            true,
        ) => (true, true),
        (b'?', true) | (b':', _) => (true, spaced),
        (b'-', true) => (spaced, spaced),
        (b',' | b'?' | b'[' | b']' | b'{' | b'}', false) => (true, false),
        (b'#', false) => (after_blank, after_blank),
        _ => (false, false),
    }
}

const fn verdict(features: &Features) -> Allowed {
    let edges = features.leading || features.trailing_space || features.trailing_break;
    let odd = features.space_break || features.special;
    let plain = !edges && !features.break_space && !odd && !features.tab && !features.line_break;
    Allowed {
        flow_plain: plain && !features.flow_indicator,
        block_plain: plain && !features.block_indicator,
        single: !features.break_space && !odd && !features.tab,
        block: !features.trailing_space && !odd,
        multiline: features.line_break,
        simple: false,
    }
}
