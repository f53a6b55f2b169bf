//! Writes JSON as Go's encoding/json does: keys in the order of their bytes, `<`, `>` and `&` escaped, no spaces.

use super::value::{Leaf, WriteError, check_twice, json_float, leaf, members};
use crate::node::{Mapping, Node, Value};
use bumpwright_text::Parts;
use std::fmt::Write;

/// Writes a node as kyaml does (`RNode.MarshalJSON`).
///
/// # Errors
/// For values without a form in JSON: `.nan`, keys below the root that are not strings, a duplicate key, a text that
/// does not fit its tag.
pub fn write_json(node: &Node, out: &mut String) -> Result<(), WriteError> {
    write_node(node, out, Position::root(true))
}

/// As [`write_json`], for people: `<`, `>` and `&` are themselves.
pub fn write_plain_json(node: &Node, out: &mut String) -> Result<(), WriteError> {
    write_node(node, out, Position::root(false))
}

/// The position of a node.
#[derive(Clone, Copy)]
struct Position {
    root: bool,
    /// Inside of `{}` or `[]`.
    flow: bool,
    /// Whether texts are escaped for HTML.
    html: bool,
}

fn write_node(node: &Node, out: &mut String, at: Position) -> Result<(), WriteError> {
    match &node.value {
        Value::Scalar(scalar) => write_leaf(&leaf(scalar, node.place, at.flow)?, out, at.html),
        Value::Mapping(mapping) => return write_mapping(mapping, out, at),
        Value::Sequence(sequence) => {
            let inside = at.below(sequence.flow);
            out.push('[');
            for (number, item) in sequence.items.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                write_node(item, out, inside)?;
            }
            out.push(']');
        }
    }
    Ok(())
}

impl Position {
    const fn root(html: bool) -> Self {
        Self {
            root: true,
            flow: false,
            html,
        }
    }

    const fn below(self, flow: bool) -> Self {
        Self {
            root: false,
            flow: self.flow || flow,
            html: self.html,
        }
    }
}

fn write_mapping(mapping: &Mapping, out: &mut String, at: Position) -> Result<(), WriteError> {
    let mut members = members(mapping, at.root, at.flow || mapping.flow)?;
    members.sort_by_key(|(key, _)| *key);
    check_twice(&members)?;
    let inside = at.below(mapping.flow);
    out.push('{');
    for (number, (key, entry)) in members.into_iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        write_quoted(key, out, at.html);
        out.push(':');
        write_node(&entry.value, out, inside)?;
    }
    out.push('}');
    Ok(())
}

fn write_leaf(leaf: &Leaf<'_>, out: &mut String, html: bool) {
    // Writing to a string does not fail.
    let _ = match leaf {
        Leaf::Null => out.write_str("null"),
        Leaf::Bool(value) => write!(out, "{value}"),
        Leaf::Int(number) => write!(out, "{number}"),
        Leaf::Uint(number) => write!(out, "{number}"),
        Leaf::Float(number) => out.write_str(&json_float(*number)),
        Leaf::Text(text) => {
            write_quoted(text, out, html);
            Ok(())
        }
        Leaf::Bytes(bytes) => {
            write_bytes(bytes, out, html);
            Ok(())
        }
    };
}

/// Writes bytes as a string; each invalid byte becomes the escape of U+FFFD.
fn write_bytes(bytes: &[u8], out: &mut String, html: bool) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        write_escaped(chunk.valid(), out, html);
        for _ in chunk.invalid() {
            out.push_str("\\ufffd");
        }
    }
    out.push('"');
}

/// Writes a string, escaped as Go does for HTML.
pub(crate) fn write_text(text: &str, out: &mut String) {
    write_quoted(text, out, true);
}

fn write_quoted(text: &str, out: &mut String, html: bool) {
    out.push('"');
    write_escaped(text, out, html);
    out.push('"');
}

fn write_escaped(text: &str, out: &mut String, html: bool) {
    let mut from = 0;
    let bytes = text.as_bytes();
    for (at, byte) in text.bytes().enumerate() {
        let (length, special) = match byte {
            0..0x20 | b'"' | b'\\' => (1, true),
            b'<' | b'>' | b'&' => (1, html),
            0xE2 => (3, matches!(bytes.get(at + 1..), Some([0x80, 0xA8 | 0xA9, ..]))),
            _ => continue,
        };
        if !special {
            continue;
        }
        out.push_str(text.part(from..at));
        text.part(at..at + length)
            .chars()
            .for_each(|character| escape(character, out));
        from = at + length;
    }
    out.push_str(text.tail(from));
}

fn escape(character: char, out: &mut String) {
    // Writing to a string does not fail.
    let _ = match character {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\x08' => out.write_str("\\b"),
        '\x0c' => out.write_str("\\f"),
        _ => write!(out, "\\u{:04x}", u32::from(character)),
    };
}
