//! An object as Flux has it after its way through text: JSON to Go's maps, where all numbers are floating point, and from
//! there to kyaml's nodes.

use super::object::SubstituteError;
use bumpwright_gostd::format_float;
use bumpwright_yaml::{Dialect, Entry, Mapping, Node, Resolved, Scalar, Style, Tag, Value, decode, plain_tag};
use compact_str::CompactString;
use std::collections::HashMap;

/// Whole numbers of up to so many digits are exact in floating point.
const EXACT_DIGITS: usize = 15;

/// Whether the way through text is sure to change nothing: there is no `$` in it, numbers are whole and small, texts are
/// one line of ASCII.
pub(crate) fn stays_itself(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(scalar) => scalar_stays(scalar),
        Value::Sequence(sequence) => sequence.tag.is_none() && sequence.items.iter().all(stays_itself),
        Value::Mapping(mapping) => {
            let stays =
                |entry: &Entry| entry.key.tag == Tag::Str && scalar_stays(&entry.key) && stays_itself(&entry.value);
            mapping.tag.is_none() && mapping.entries.iter().all(stays)
        }
    }
}

fn scalar_stays(scalar: &Scalar) -> bool {
    let text = scalar.text.as_bytes();
    match scalar.tag {
        Tag::Str => text.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'$'),
        Tag::Null => matches!(text, b"" | b"null" | b"~"),
        Tag::Bool => matches!(text, b"true" | b"false"),
        Tag::Int => {
            text.len() <= EXACT_DIGITS
                && text.iter().all(u8::is_ascii_digit)
                && (text.len() == 1 || !text.starts_with(b"0"))
        }
        _ => false,
    }
}

/// The node that Flux goes on with, given what go-yaml v2 read. Values that `original` has at the same path stand where
/// they stood there.
///
/// # Errors
/// Where the root is no mapping, and for numbers that JSON has not.
pub(crate) fn reread(read: Node, original: &Node) -> Result<Node, SubstituteError> {
    match &read.value {
        Value::Mapping(_) => convert(read, Some(original)),
        Value::Sequence(_) => Err(SubstituteError::NoObject("array")),
        Value::Scalar(scalar) => match number(scalar)? {
            Some(_) => Err(SubstituteError::NoObject("number")),
            None if scalar.tag == Tag::Null => Ok(Node::mapping().at(original.place)),
            None if scalar.tag == Tag::Bool => Err(SubstituteError::NoObject("bool")),
            None => Err(SubstituteError::NoObject("string")),
        },
    }
}

fn convert(mut read: Node, original: Option<&Node>) -> Result<Node, SubstituteError> {
    let value = match read.value {
        Value::Scalar(scalar) => Value::Scalar(convert_scalar(scalar)?),
        Value::Sequence(mut sequence) => {
            let before = original.and_then(Node::as_items).unwrap_or_default();
            let mut items = Vec::with_capacity(sequence.items.len());
            for (at, item) in sequence.items.into_iter().enumerate() {
                items.push(convert(item, before.get(at))?);
            }
            sequence.items = items;
            (sequence.flow, sequence.tag) = (false, None);
            Value::Sequence(sequence)
        }
        Value::Mapping(mapping) => Value::Mapping(convert_mapping(mapping, original)?),
    };
    read.value = value;
    Ok(read.at(original.map(|node| node.place).unwrap_or_default()))
}

fn convert_mapping(mapping: Mapping, original: Option<&Node>) -> Result<Mapping, SubstituteError> {
    let before = original.and_then(Node::as_mapping);
    let before = before.map(|mapping| mapping.entries.as_slice()).unwrap_or_default();
    let before: HashMap<&str, &Entry> = before.iter().map(|entry| (entry.key.text.as_str(), entry)).collect();
    let mut entries = Vec::with_capacity(mapping.entries.len());
    for entry in mapping.entries {
        let old = before.get(entry.key.text.as_str());
        entries.push(Entry {
            key: text_scalar(entry.key.text),
            place: old.map(|old| old.place).unwrap_or_default(),
            value: convert(entry.value, old.map(|old| &old.value))?,
        });
    }
    Ok(Mapping {
        entries,
        ..Mapping::default()
    })
}

fn convert_scalar(scalar: Scalar) -> Result<Scalar, SubstituteError> {
    if let Some(number) = number(&scalar)? {
        let text = format_float(number, b'g', None, 64);
        return Ok(Scalar {
            tag: plain_tag(&text, Dialect::V3),
            text: text.into(),
            style: Style::Plain,
        });
    }
    Ok(match scalar.tag {
        Tag::Null | Tag::Bool => scalar,
        _ => text_scalar(scalar.text),
    })
}

/// A text as yaml.v3 writes and reads it: in a block where it has several lines.
fn text_scalar(text: CompactString) -> Scalar {
    let style = match text.contains('\n') {
        true => Style::Literal,
        false => Style::Plain,
    };
    Scalar {
        style,
        ..Scalar::string(text)
    }
}

/// The value of a number.
fn number(scalar: &Scalar) -> Result<Option<f64>, SubstituteError> {
    if !matches!(scalar.tag, Tag::Int | Tag::Float) {
        return Ok(None);
    }
    let number = match decode(scalar, Dialect::V2) {
        #[allow(clippy::cast_precision_loss)] // so does Go
        Ok(Resolved::Int(number)) => number as f64,
        #[allow(clippy::cast_precision_loss)]
        Ok(Resolved::Uint(number)) => number as f64,
        Ok(Resolved::Float(number)) => number,
        Ok(_) => return Ok(None),
        Err(error) => return Err(SubstituteError::Malformed(format!("yaml: {error}"))),
    };
    if number.is_finite() {
        return Ok(Some(number));
    }
    let spelled = match (number.is_nan(), number > 0.0) {
        (true, _) => "NaN",
        (false, true) => "+Inf",
        (false, false) => "-Inf",
    };
    Err(SubstituteError::Malformed(format!(
        "json: unsupported value: {spelled}"
    )))
}
