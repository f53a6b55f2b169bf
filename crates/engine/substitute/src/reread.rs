//! An object as Flux has it after its conversion through text: JSON to Go's maps, where all numbers are floating point,
//! and from there to kyaml's nodes.

use super::object::SubstituteError;
use bumpwright_gostd::format_float;
use bumpwright_yaml::{
    Dialect, Entry, FileId, Node, Place, ReadOptions, Resolved, Scalar, SequenceIndent, Style, Tag, Value, decode,
    plain_tag, read_first, write_kyaml,
};
use std::collections::HashMap;

/// Integers of up to so many digits are exact in floating point.
const EXACT_DIGITS: usize = 15;

/// Whether the conversion through text is certain to change nothing: it has no `$`, numbers are small integers,
/// texts are one line of ASCII.
pub(crate) fn is_unchanged(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(scalar) => scalar_is_unchanged(scalar),
        Value::Sequence(sequence) => sequence.tag.is_none() && sequence.items.iter().all(is_unchanged),
        Value::Mapping(mapping) => {
            let stays = |entry: &Entry| {
                entry.key.tag == Tag::Str && scalar_is_unchanged(&entry.key) && is_unchanged(&entry.value)
            };
            mapping.tag.is_none() && mapping.entries.iter().all(stays)
        }
    }
}

fn scalar_is_unchanged(scalar: &Scalar) -> bool {
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

/// The node that Flux continues with, from the result of go-yaml v2. Values that `original` has at the same path keep
/// their places.
///
/// # Errors
/// Where the root is not a mapping, for numbers without a form in JSON, and for texts that kyaml cannot read back.
pub(crate) fn reread(mut read: Node, original: &Node) -> Result<Node, SubstituteError> {
    check_root(&read)?;
    if read.is_null() {
        read = Node::mapping();
    }
    convert(&mut read)?;
    if has_tabbed_block(&read) {
        read = through_kyaml(&read)?;
    }
    put_places(&mut read, Some(original));
    Ok(read)
}

fn check_root(read: &Node) -> Result<(), SubstituteError> {
    let kind = match &read.value {
        Value::Mapping(_) => return Ok(()),
        Value::Sequence(_) => "array",
        Value::Scalar(scalar) => match number(scalar)? {
            Some(_) => "number",
            None if scalar.tag == Tag::Null => return Ok(()),
            None if scalar.tag == Tag::Bool => "bool",
            None => "string",
        },
    };
    Err(SubstituteError::NoObject(kind))
}

/// Converts numbers to those of Go's maps, and texts to those that yaml.v3 writes and reads.
fn convert(node: &mut Node) -> Result<(), SubstituteError> {
    match &mut node.value {
        Value::Scalar(scalar) => convert_scalar(scalar),
        Value::Sequence(sequence) => {
            (sequence.flow, sequence.tag) = (false, None);
            sequence.items.iter_mut().try_for_each(convert)
        }
        Value::Mapping(mapping) => {
            (mapping.flow, mapping.tag) = (false, None);
            mapping.entries.iter_mut().try_for_each(|entry| {
                settle_text(&mut entry.key);
                convert(&mut entry.value)
            })
        }
    }
}

/// Whether a multi-line text begins with a tab: written as a block it is read as another one, or not at all.
fn has_tabbed_block(node: &Node) -> bool {
    let tabbed = |scalar: &Scalar| scalar.style == Style::Literal && scalar.text.starts_with('\t');
    match &node.value {
        Value::Scalar(scalar) => tabbed(scalar),
        Value::Sequence(sequence) => sequence.items.iter().any(has_tabbed_block),
        Value::Mapping(mapping) => mapping.entries.iter().any(|entry| has_tabbed_block(&entry.value)),
    }
}

fn through_kyaml(node: &Node) -> Result<Node, SubstituteError> {
    let mut text = String::new();
    write_kyaml(node, SequenceIndent::Compact, &mut text);
    let read = read_first(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE));
    let read = read.map_err(|error| SubstituteError::Unreadable(error.go().to_owned()))?;
    Ok(read.unwrap_or_else(Node::mapping))
}

fn put_places(node: &mut Node, original: Option<&Node>) {
    node.place = original.map_or(Place::NONE, |original| original.place);
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(sequence) => {
            let before = original.map_or(&[][..], Node::items);
            for (at, item) in sequence.items.iter_mut().enumerate() {
                put_places(item, before.get(at));
            }
        }
        Value::Mapping(mapping) => {
            let before = original.into_iter().flat_map(Node::entries);
            let before: HashMap<&str, &Entry> = before.map(|entry| (entry.key.text.as_str(), entry)).collect();
            for entry in &mut mapping.entries {
                let old = before.get(entry.key.text.as_str());
                entry.place = old.map_or(Place::NONE, |old| old.place);
                put_places(&mut entry.value, old.map(|old| &old.value));
            }
        }
    }
}

fn convert_scalar(scalar: &mut Scalar) -> Result<(), SubstituteError> {
    if let Some(number) = number(scalar)? {
        let text = format_float(number, b'g', None, 64);
        *scalar = Scalar {
            tag: plain_tag(&text, Dialect::V3),
            text: text.into(),
            style: Style::Plain,
        };
    } else if !matches!(scalar.tag, Tag::Null | Tag::Bool) {
        settle_text(scalar);
    }
    Ok(())
}

/// A text as yaml.v3 writes and reads it: in a block where it has several lines.
fn settle_text(scalar: &mut Scalar) {
    scalar.tag = Tag::Str;
    scalar.style = if scalar.text.contains('\n') {
        Style::Literal
    } else {
        Style::Plain
    };
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
