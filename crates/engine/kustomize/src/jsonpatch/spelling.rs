//! Scalars as JSON spells them, and as they are spelled after a round trip through JSON.

use super::PatchError;
use bumpwright_gostd::format_float;
use bumpwright_yaml::{
    Dialect, Node, Place, Resolved, Scalar, SequenceIndent, Style, Tag, Value, decode, is_base_60, plain_tag, reread,
    write_kyaml,
};
use std::cell::Cell;

/// Spells every scalar below `node` as JSON does: integers with decimal digits, floats as Go writes
/// them, timestamps as text.
///
/// # Errors
///
/// When a value has no form in JSON: `.nan`, `!!int x`.
pub(super) fn to_json(node: &mut Node, dialect: Dialect) -> Result<(), PatchError> {
    each_scalar(node, false, &|scalar, place, flow| {
        if scalar.tag == Tag::Str {
            return Ok(());
        }
        if flow && dialect == Dialect::V3 && is_empty_null(scalar) {
            set(scalar, "", Tag::Str);
            return Ok(());
        }
        let (text, tag) = match value(scalar, dialect, place)? {
            Resolved::Null => ("null".to_owned(), Tag::Null),
            Resolved::Bool(value) => (value.to_string(), Tag::Bool),
            Resolved::Int(number) => (number.to_string(), Tag::Int),
            Resolved::Uint(number) => (number.to_string(), Tag::Int),
            Resolved::Float(number) => {
                let text = float(number);
                // 1e19 is an integer once it is spelled.
                let tag = plain_tag(&text, Dialect::V3);
                (text, tag)
            }
            other => (string(other), Tag::Str),
        };
        set(scalar, &text, tag);
        Ok(())
    })
}

/// Spells every scalar below `node` as after a round trip: Go parses all JSON numbers as floats, and
/// writes them as YAML.
pub(super) fn from_json(node: &mut Node) -> Result<(), PatchError> {
    // Whether there may be a text that kyaml writes as a block and cannot read.
    let unreadable = Cell::new(false);
    each_scalar(node, false, &|scalar, place, flow| {
        if flow && is_empty_null(scalar) {
            set(scalar, "", Tag::Str);
        }
        if scalar.tag == Tag::Str {
            scalar.style = style(&scalar.text);
            unreadable.set(unreadable.get() || scalar.text.starts_with('\t'));
            return Ok(());
        }
        if scalar.tag == Tag::Int && is_short(&scalar.text) {
            scalar.style = Style::Plain;
            return Ok(());
        }
        #[allow(clippy::cast_precision_loss)] // what Go's float64 loses, too
        let number = match value(scalar, Dialect::V3, place)? {
            Resolved::Int(number) => number as f64,
            Resolved::Uint(number) => number as f64,
            Resolved::Float(number) => number,
            Resolved::Null => {
                set(scalar, "null", Tag::Null);
                return Ok(());
            }
            Resolved::Bool(value) => {
                set(scalar, if value { "true" } else { "false" }, Tag::Bool);
                return Ok(());
            }
            other => {
                let text = string(other);
                set(scalar, &text, Tag::Str);
                scalar.style = style(&text);
                return Ok(());
            }
        };
        let text = format_float(number, b'g', None, 64);
        let tag = plain_tag(&text, Dialect::V3);
        set(scalar, &text, tag);
        Ok(())
    })?;
    unfold(node);
    if unreadable.get() {
        reread(node)?;
    }
    Ok(())
}

/// Calls a function on every scalar, with its place and whether it stands in `{…}` or `[…]`.
fn each_scalar(
    node: &mut Node,
    flow: bool,
    change: &impl Fn(&mut Scalar, Place, bool) -> Result<(), PatchError>,
) -> Result<(), PatchError> {
    match &mut node.value {
        Value::Scalar(scalar) => change(scalar, node.place, flow),
        Value::Mapping(mapping) => {
            let flow = flow || mapping.flow;
            let mut entries = mapping.entries.iter_mut();
            entries.try_for_each(|entry| each_scalar(&mut entry.value, flow, change))
        }
        Value::Sequence(sequence) => {
            let flow = flow || sequence.flow;
            let mut items = sequence.items.iter_mut();
            items.try_for_each(|item| each_scalar(item, flow, change))
        }
    }
}

/// Changes flow style to block style: what comes back from JSON has no flow style.
fn unfold(node: &mut Node) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Mapping(mapping) => {
            mapping.flow = false;
            mapping.entries.iter_mut().for_each(|entry| unfold(&mut entry.value));
        }
        Value::Sequence(sequence) => {
            sequence.flow = false;
            sequence.items.iter_mut().for_each(unfold);
        }
    }
}

/// Whether it is a null without text. kyaml writes that as `''` in flow style, and reads a string.
fn is_empty_null(scalar: &Scalar) -> bool {
    scalar.tag == Tag::Null && scalar.text.is_empty()
}

fn value(scalar: &Scalar, dialect: Dialect, place: Place) -> Result<Resolved<'_>, PatchError> {
    let problem = match decode(scalar, dialect) {
        Ok(Resolved::Float(number)) if !number.is_finite() => {
            format!("{} is not a valid JSON number", scalar.text)
        }
        Ok(value) => return Ok(value),
        Err(error) => error.to_string(),
    };
    Err(PatchError::Value { place, problem })
}

fn string(value: Resolved<'_>) -> String {
    match value {
        Resolved::Timestamp(text) => text,
        Resolved::Text(text) => text.into_owned(),
        Resolved::Bytes(bytes) => bumpwright_gostd::lossy(&bytes).into_owned(),
        _ => String::new(),
    }
}

fn set(scalar: &mut Scalar, text: &str, tag: Tag) {
    if scalar.text != text {
        scalar.text = text.into();
    }
    scalar.tag = tag;
    scalar.style = Style::Plain;
}

/// Whether an integer is spelled alike in all forms: digits, few enough for a float to be written without exponent.
fn is_short(text: &str) -> bool {
    matches!(text.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.len() < 6 && rest.iter().all(u8::is_ascii_digit))
}

/// A float as encoding/json spells it.
fn float(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return format_float(number, b'f', None, 64);
    }
    let text = format_float(number, b'e', None, 64);
    match text.split_once("e-0") {
        Some((digits, exponent)) => format!("{digits}e-{exponent}"),
        None => text,
    }
}

/// How yaml.v3 writes a string.
fn style(text: &str) -> Style {
    if text.contains('\n') {
        return Style::Literal;
    }
    let is_other = |dialect| plain_tag(text, dialect) != Tag::Str;
    if text.is_empty() || is_other(Dialect::V3) || is_other(Dialect::V2) || is_base_60(text) || !is_plain(text) {
        return Style::Double;
    }
    Style::Plain
}

/// Whether yaml.v3 can write a one-line string without quotes.
fn is_plain(text: &str) -> bool {
    let is_simple = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    if text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric) && text.bytes().all(is_simple) {
        return true;
    }
    let mut written = String::new();
    write_kyaml(&Node::string(text), SequenceIndent::Compact, &mut written);
    !written.starts_with(['\'', '"', '|', '>'])
}
