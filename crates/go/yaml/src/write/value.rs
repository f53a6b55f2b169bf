//! Nodes as JSON values, for both the JSON writer and the writer of sigs.k8s.io/yaml.

use std::borrow::Cow;

use compact_str::{CompactString, ToCompactString};

use super::analyze::{Library, analyze};
use super::kyaml::{SequenceIndent, write_kyaml};
use crate::node::{Entry, Mapping, Node, Scalar, Style, Tag, Value};
use crate::place::{FileId, Files, Place};
use crate::read::documents::read_first;
use crate::read::options::{Dialect, ReadOptions};
use crate::read::resolve::{Resolved, TagError, decode, plain_tag};
use bumpwright_gostd::format_float;

/// A tree without a form in the output format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}", line = .place.line, column = .place.column)]
pub struct WriteError {
    /// The node that cannot be written.
    pub place: Place,
    pub problem: String,
    go: Box<str>,
}

impl WriteError {
    pub(crate) fn new(place: Place, problem: impl Into<String>, go: impl Into<Box<str>>) -> Self {
        Self {
            place,
            problem: problem.into(),
            go: go.into(),
        }
    }

    /// The message of Go's library, including its `yaml: ` or `json: `.
    #[must_use]
    pub fn go(&self) -> &str {
        &self.go
    }

    /// `path:line:column: problem`.
    #[must_use]
    pub fn show(&self, files: &Files) -> String {
        match files.show(self.place) {
            Some(place) => format!("{place}: {}", self.problem),
            None => self.problem.clone(),
        }
    }
}

/// The JSON value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Leaf<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Cow<'a, str>),
    /// The content of `!!binary` that is not UTF-8.
    Bytes(Vec<u8>),
}

/// The value of a scalar, by its tag, after kyaml has printed it and read it again: an empty scalar inside of `{}` or
/// `[]` (`flow`) becomes `''` then, and folded text may get other line breaks.
pub(crate) fn leaf(scalar: &Scalar, place: Place, flow: bool) -> Result<Leaf<'_>, WriteError> {
    if is_text(scalar) {
        return Ok(Leaf::Text(if !flow && may_change(scalar) {
            Cow::Owned(printed_and_read(scalar, place)?)
        } else {
            Cow::Borrowed(&scalar.text)
        }));
    }
    if flow && is_quoted_in_flow(scalar) {
        return Ok(Leaf::Text(Cow::Borrowed(&scalar.text)));
    }
    let value = decode(scalar, Dialect::V3).map_err(|error| tag_error(&error, place))?;
    Ok(match value {
        Resolved::Null => Leaf::Null,
        Resolved::Bool(value) => Leaf::Bool(value),
        Resolved::Int(number) => Leaf::Int(number),
        Resolved::Uint(number) => Leaf::Uint(number),
        Resolved::Float(number) if !number.is_finite() => {
            let spelled = match (number.is_nan(), number > 0.0) {
                (true, _) => "NaN",
                (false, true) => "+Inf",
                (false, false) => "-Inf",
            };
            let problem = format!("{} is not a valid JSON number", scalar.text);
            return Err(WriteError::new(
                place,
                problem,
                format!("json: unsupported value: {spelled}"),
            ));
        }
        Resolved::Float(number) => Leaf::Float(number),
        Resolved::Timestamp(text) => Leaf::Text(Cow::Owned(text)),
        Resolved::Text(text) => Leaf::Text(text),
        Resolved::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Leaf::Text(Cow::Owned(text)),
            Err(error) => Leaf::Bytes(error.into_bytes()),
        },
    })
}

fn tag_error(error: &TagError, place: Place) -> WriteError {
    WriteError::new(place, error.to_string(), format!("yaml: {error}"))
}

/// Whether kyaml quotes what is not a string inside of `{}` or `[]`: an empty scalar, and dates with a time.
fn is_quoted_in_flow(scalar: &Scalar) -> bool {
    let untagged = matches!(&scalar.tag, Tag::Other(none) if none.is_empty());
    let concerned = scalar.style == Style::Plain && (untagged || matches!(scalar.tag, Tag::Null | Tag::Timestamp));
    if !concerned || analyze(&scalar.text, Library::V3).flow_plain {
        return false;
    }
    let read = plain_tag(&scalar.text, Dialect::V3);
    matches!(read, Tag::Null | Tag::Timestamp) && (untagged || read == scalar.tag)
}

/// Whether a scalar is a string whatever its text: also an untagged one with several lines, for it is
/// printed as a block.
fn is_text(scalar: &Scalar) -> bool {
    let untagged = matches!(&scalar.tag, Tag::Other(none) if none.is_empty());
    scalar.tag == Tag::Str || (untagged && scalar.text.contains('\n'))
}

/// Whether a text may change when kyaml has printed it as a block: go-yaml does not fold lines that are
/// indented more, and accepts no tab as the first character.
fn may_change(scalar: &Scalar) -> bool {
    match scalar.style {
        Style::Folded => scalar.text.contains('\n') || scalar.text.starts_with('\t'),
        Style::Literal => scalar.text.starts_with('\t'),
        Style::Plain => scalar.text.starts_with('\t') && scalar.text.contains('\n'),
        Style::Single | Style::Double => false,
    }
}

/// Changes a tree to what it becomes once kyaml has printed it and read values from that: some multi-line texts differ
/// then. A second round changes nothing.
///
/// # Errors
/// As [`crate::write_json`] for keys: one that is not a string, or that a mapping has twice.
pub fn reread(node: &mut Node) -> Result<(), WriteError> {
    let read = |scalar: &mut Scalar, place, flow: bool| {
        if is_text(scalar) && !flow && may_change(scalar) {
            scalar.tag = Tag::Str;
            scalar.text = printed_and_read(scalar, place)?.into();
            // The quotes keep it from being printed as a block.
            scalar.style = Style::Double;
        }
        Ok(())
    };
    each_scalar(node, true, false, &read)
}

/// Changes a tree to what it becomes once kustomize has converted it to values, to JSON, and back: all collections in
/// flow style, all strings in quotes.
///
/// # Errors
/// As [`crate::write_json`].
pub fn revalue(node: &mut Node) -> Result<(), WriteError> {
    let read = |scalar: &mut Scalar, place, _: bool| {
        let (text, tag) = match scalar.tag {
            Tag::Str => (CompactString::default(), Tag::Str),
            _ => match leaf(scalar, place, false)? {
                Leaf::Null => ("null".into(), Tag::Null),
                Leaf::Bool(value) => (value.to_compact_string(), Tag::Bool),
                Leaf::Int(number) => (number.to_compact_string(), Tag::Int),
                Leaf::Uint(number) => (number.to_compact_string(), Tag::Int),
                Leaf::Float(number) => {
                    let text = json_float(number);
                    let tag = plain_tag(&text, Dialect::V3);
                    (text.into(), tag)
                }
                Leaf::Text(text) => (text.as_ref().into(), Tag::Str),
                Leaf::Bytes(bytes) => (bumpwright_gostd::lossy(&bytes).into(), Tag::Str),
            },
        };
        if scalar.tag != Tag::Str {
            scalar.text = text;
        }
        let style = if tag == Tag::Str { Style::Double } else { Style::Plain };
        (scalar.tag, scalar.style) = (tag, style);
        Ok(())
    };
    each_scalar(node, true, false, &read)?;
    fold(node);
    Ok(())
}

/// Sets all collections to flow style.
fn fold(node: &mut Node) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(sequence) => {
            sequence.flow = true;
            sequence.items.iter_mut().for_each(fold);
        }
        Value::Mapping(mapping) => {
            mapping.flow = true;
            mapping.entries.iter_mut().for_each(|entry| fold(&mut entry.value));
        }
    }
}

/// Changes every value that is a scalar; `change` gets its place and whether it is in flow style. Keys are checked.
fn each_scalar(
    node: &mut Node,
    root: bool,
    flow: bool,
    change: &impl Fn(&mut Scalar, Place, bool) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    match &mut node.value {
        Value::Scalar(scalar) => change(scalar, node.place, flow),
        Value::Sequence(sequence) => {
            let flow = flow || sequence.flow;
            let mut items = sequence.items.iter_mut();
            items.try_for_each(|item| each_scalar(item, false, flow, change))
        }
        Value::Mapping(mapping) => {
            let flow = flow || mapping.flow;
            let mut keys = members(mapping, root, flow)?;
            keys.sort_by_key(|(key, _)| *key);
            check_twice(&keys)?;
            let mut entries = mapping.entries.iter_mut();
            entries.try_for_each(|entry| each_scalar(&mut entry.value, false, flow, change))
        }
    }
}

/// A text as kyaml reads it from its own output.
fn printed_and_read(scalar: &Scalar, place: Place) -> Result<String, WriteError> {
    let mut printed = String::new();
    write_kyaml(
        &Node::new(Value::Scalar(scalar.clone())),
        SequenceIndent::Compact,
        &mut printed,
    );
    let read = read_first(printed.as_bytes(), &ReadOptions::kyaml(FileId::NONE)).map_err(|error| {
        let problem = format!(
            "kustomize cannot read this text back once it has printed it: {}",
            error.problem
        );
        WriteError::new(place, problem, error.go())
    })?;
    Ok(match read.map(|node| node.value) {
        Some(Value::Scalar(scalar)) => scalar.text.into(),
        _ => scalar.text.to_string(),
    })
}

/// The entries of a mapping with their keys as text. The root may have keys of any scalar type but null, deeper
/// mappings only strings. An empty key becomes `''` in kyaml's output, which is a string.
pub(crate) fn members(mapping: &Mapping, root: bool, flow: bool) -> Result<Vec<(&str, &Entry)>, WriteError> {
    let mut members = Vec::with_capacity(mapping.entries.len());
    for entry in &mapping.entries {
        match entry.key.tag {
            Tag::Str | Tag::Merge => {}
            Tag::Null if entry.key.text.is_empty() => {}
            Tag::Timestamp if flow && is_quoted_in_flow(&entry.key) => {}
            Tag::Null => {
                let problem = "null cannot be a key";
                return Err(WriteError::new(
                    entry.place,
                    problem,
                    twice_sentence(&entry.key.text, entry.place, entry.place),
                ));
            }
            _ if root => {
                decode(&entry.key, Dialect::V3).map_err(|error| tag_error(&error, entry.place))?;
            }
            _ => {
                return Err(WriteError::new(
                    entry.place,
                    format!("the key {} is not a string, and JSON has no other keys", entry.key.text),
                    "json: unsupported type: map[interface {}]interface {}",
                ));
            }
        }
        members.push((entry.key.text.as_str(), entry));
    }
    Ok(members)
}

/// Finds a duplicate key in sorted members.
pub(crate) fn check_twice(members: &[(&str, &Entry)]) -> Result<(), WriteError> {
    let twice = members.windows(2).find_map(|pair| match pair {
        [(left, first), (right, second)] if left == right => Some((first, second)),
        _ => None,
    });
    let Some((first, second)) = twice else { return Ok(()) };
    let key = bumpwright_gostd::quote(&second.key.text);
    let problem = format!("mapping key {key} already defined at line {}", first.place.line);
    Err(WriteError::new(
        second.place,
        problem,
        twice_sentence(&second.key.text, second.place, first.place),
    ))
}

/// Go's message for a duplicate key.
fn twice_sentence(key: &str, second: Place, first: Place) -> String {
    let key = bumpwright_gostd::quote(key);
    format!(
        "yaml: unmarshal errors:\n  line {}: mapping key {key} already defined at line {}",
        second.line, first.line
    )
}

/// A float as encoding/json spells it.
pub(crate) fn json_float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format_float(number, b'e', None, 64);
        // e-09 is e-9
        return match text.split_once("e-0") {
            Some((digits, exponent)) => format!("{digits}e-{exponent}"),
            None => text,
        };
    }
    format_float(number, b'f', None, 64)
}
