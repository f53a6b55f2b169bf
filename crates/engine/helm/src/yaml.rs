//! YAML as sigs.k8s.io/yaml reads it for Helm: through JSON, with every number a `float64`.

use crate::index::json_text;
use bumpwright_gostd::{format_float, parse_float};
use bumpwright_yaml::{FileId, Node, ReadOptions, Resolved, Scalar, Tag, Value, decode, read_first, write_sigs};
use serde_json::{Map, Number, Value as Json};

/// The first document of a text; null for none.
///
/// # Errors
/// The text of sigs.k8s.io/yaml.
pub(crate) fn read(text: &[u8]) -> Result<Node, String> {
    let read = read_first(text, &ReadOptions::sigs(FileId::NONE));
    read.map(|node| node.unwrap_or_else(Node::null))
        .map_err(|error| format!("error converting YAML to JSON: {}", error.go_with_content()))
}

/// The JSON value of a document.
///
/// # Errors
/// As [`read`], and for numbers that JSON has not.
pub(crate) fn json(text: &[u8]) -> Result<Json, String> {
    json_of(&read(text)?).map_err(|error| format!("error converting YAML to JSON: {error}"))
}

/// A document that has to be a mapping; null is an empty one.
///
/// # Errors
/// As [`json`].
pub(crate) fn object(text: &[u8]) -> Result<Map<String, Json>, String> {
    match json(text)? {
        Json::Object(map) => Ok(map),
        Json::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "Go value of type map[string]interface {}")),
    }
}

/// A value as sigs.k8s.io/yaml writes it.
///
/// # Errors
/// What YAML cannot have.
pub(crate) fn written(value: &Json) -> Result<String, String> {
    let mut text = Vec::new();
    json_text(value, &mut text).map_err(|error| error.to_string())?;
    written_of_json(&text)
}

/// The same of the text of a JSON value.
pub(crate) fn written_of_json(text: &[u8]) -> Result<String, String> {
    let node = read_first(text, &ReadOptions::sigs(FileId::NONE)).map_err(|error| error.go().to_owned())?;
    let mut out = String::new();
    if let Some(node) = node {
        write_sigs(&node, &mut out).map_err(|error| error.go().to_owned())?;
    }
    Ok(out)
}

/// Go's error for a value of another type than the wanted one.
pub(crate) fn mismatch(value: &Json, wanted: &str) -> String {
    cannot_unmarshal(kind(value), wanted)
}

/// The error for a value of a kind where a Go type is wanted.
pub(crate) fn cannot_unmarshal(kind: &str, wanted: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into {wanted}")
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// The JSON value of a node.
///
/// # Errors
/// Infinity and NaN cannot be written as JSON.
pub(crate) fn json_of(node: &Node) -> Result<Json, String> {
    match &node.value {
        Value::Scalar(scalar) => json_of_scalar(scalar),
        Value::Sequence(sequence) => {
            let items = sequence.items.iter().map(json_of);
            items.collect::<Result<_, _>>().map(Json::Array)
        }
        Value::Mapping(mapping) => {
            let entries = mapping.entries.iter();
            let pairs = entries.map(|entry| Ok((entry.key.text.to_string(), json_of(&entry.value)?)));
            pairs.collect::<Result<Map<_, _>, _>>().map(Json::Object)
        }
    }
}

fn json_of_scalar(scalar: &Scalar) -> Result<Json, String> {
    Ok(match scalar.tag {
        Tag::Null => Json::Null,
        Tag::Bool => Json::Bool(scalar.text == "true"),
        Tag::Int => number(parse_float(scalar.text.as_bytes(), 64).unwrap_or_default())?,
        Tag::Float => match decode(scalar, bumpwright_yaml::Dialect::V2) {
            Ok(Resolved::Float(value)) => number(value)?,
            _ => Json::String(scalar.text.to_string()),
        },
        _ => Json::String(scalar.text.to_string()),
    })
}

fn number(value: f64) -> Result<Json, String> {
    Number::from_f64(value).map(Json::Number).ok_or_else(|| {
        let spelled = match (value.is_nan(), value > 0.0) {
            (true, _) => "NaN",
            (false, true) => "+Inf",
            (false, false) => "-Inf",
        };
        format!("json: unsupported value: {spelled}")
    })
}

/// A scalar as the text that a field of type `string` gets: numbers and booleans are spelled.
pub(crate) fn spelled(scalar: &Scalar) -> String {
    match scalar.tag {
        Tag::Float => match decode(scalar, bumpwright_yaml::Dialect::V2) {
            Ok(Resolved::Float(value)) => format_float(value, b'g', None, 64),
            _ => scalar.text.to_string(),
        },
        _ => scalar.text.to_string(),
    }
}
