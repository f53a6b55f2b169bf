//! The new spelling of a value: the style that stood there where it still reads back as the value, else the least
//! change that does (docs/decisions.md, *formatting* and *new value's type*).

use super::plain;

/// The spelling for a place that holds a plain scalar.
pub(super) fn as_plain(value: &str, flow: bool, typed: bool) -> String {
    if plain::can_be_plain(value, flow, typed) {
        value.to_owned()
    } else {
        as_double(value)
    }
}

/// The spelling in single quotes, or in double ones where single quotes cannot hold the value.
pub(super) fn as_single(value: &str) -> String {
    if value.chars().any(needs_escape) {
        return as_double(value);
    }
    format!("'{}'", value.replace('\'', "''"))
}

/// The spelling in double quotes.
pub(super) fn as_double(value: &str) -> String {
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

fn escape(code: u32) -> String {
    match code {
        0..=0xff => format!("\\x{code:02x}"),
        0x100..=0xffff => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    }
}

/// Characters that YAML reads as a line break or not at all.
pub(super) fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
