//! The spelling of a new value: the old style if it can represent the value, else the smallest change
//! (docs/decisions.md, *formatting* and *new value's type*).

use super::plain;

/// The spelling in place of a plain scalar.
pub(crate) fn as_plain(value: &str, flow: bool, typed: bool) -> String {
    if plain::can_be_plain(value, flow, typed) {
        value.to_owned()
    } else {
        as_double(value)
    }
}

/// The spelling in single quotes, or in double ones if the value needs escapes.
pub(crate) fn as_single(value: &str) -> String {
    if value.chars().any(needs_escape) {
        return as_double(value);
    }
    format!("'{}'", value.replace('\'', "''"))
}

/// The spelling in double quotes.
pub(crate) fn as_double(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if needs_escape(c) => out.push_str(&escape(u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A text as a scalar in block style, in the style that `old` has.
#[must_use]
pub fn scalar(old: &str, value: &str) -> String {
    match old.chars().next() {
        Some('\'') => as_single(value),
        Some('"') => as_double(value),
        _ => as_plain(value, false, false),
    }
}

fn escape(code: u32) -> String {
    match code {
        0..=0xff => format!("\\x{code:02x}"),
        0x100..=0xffff => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    }
}

/// Whether YAML reads a character as a line break or not at all.
pub(crate) fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
