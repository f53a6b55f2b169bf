//! YAML as sigs.k8s.io/yaml reads it for Helm: through JSON, with every number a `float64`.

use crate::index::json_text;
use bumpwright_gostd::{TimeError, format_float, parse_float};
use bumpwright_yaml::{
    FileId, Node, ReadError, ReadOptions, Resolved, Scalar, Tag, Value, WriteError, decode, read_first, write_sigs,
};
use serde_json::{Map, Number, Value as Json};
use thiserror::Error;

/// Why a document is not what Helm reads from it, in the words of sigs.k8s.io/yaml.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum YamlError {
    /// It is not YAML.
    #[error("error converting YAML to JSON: {}", .0.go_with_content())]
    Syntax(ReadError),
    /// A number of it cannot be written as JSON.
    #[error("error converting YAML to JSON: {0}")]
    Converted(UnsupportedNumber),
    /// A number of a field cannot be written as JSON.
    #[error(transparent)]
    Number(#[from] UnsupportedNumber),
    /// A value has another type than its field.
    #[error("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into {wanted}")]
    Type {
        /// What there is: `string`, `object`.
        found: &'static str,
        /// The field and its type in Go.
        wanted: String,
    },
    /// A field does not exist, where that is an error.
    #[error("error unmarshaling JSON: while decoding JSON: json: unknown field {0:?}")]
    UnknownField(String),
    /// A text is not a time.
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Time(#[from] TimeError),
    /// A time that Go does not write.
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    TimeRange(&'static str),
}

/// A number that JSON does not have: infinity, or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("json: unsupported value: {0}")]
pub struct UnsupportedNumber(&'static str);

/// Why a value is not written as YAML, in the words of sigs.k8s.io/yaml.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnwrittenYaml {
    /// Its JSON is not read as YAML.
    #[error("{}", .0.go())]
    Read(ReadError),
    /// It has no form in YAML.
    #[error("{}", .0.go())]
    Write(WriteError),
}

/// The first document of a text; null for none.
///
/// # Errors
/// [`YamlError::Syntax`]
pub(crate) fn read(text: &[u8]) -> Result<Node, YamlError> {
    let read = read_first(text, &ReadOptions::sigs(FileId::NONE));
    read.map(|node| node.unwrap_or_else(Node::null))
        .map_err(YamlError::Syntax)
}

/// The JSON value of a document.
///
/// # Errors
/// As [`read`], and for numbers that JSON has not.
pub(crate) fn json(text: &[u8]) -> Result<Json, YamlError> {
    json_of(&read(text)?).map_err(YamlError::Converted)
}

/// A document that has to be a mapping; null is an empty one.
pub(crate) fn object(text: &[u8]) -> Result<Map<String, Json>, YamlError> {
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
pub(crate) fn written(value: &Json) -> Result<String, UnwrittenYaml> {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = json_text(value, &mut text);
    written_of_json(&text)
}

/// The same of the text of a JSON value.
pub(crate) fn written_of_json(text: &[u8]) -> Result<String, UnwrittenYaml> {
    let node = read_first(text, &ReadOptions::sigs(FileId::NONE)).map_err(UnwrittenYaml::Read)?;
    let mut out = String::new();
    if let Some(node) = node {
        write_sigs(&node, &mut out).map_err(UnwrittenYaml::Write)?;
    }
    Ok(out)
}

/// Go's error for a value of another type than the wanted one.
pub(crate) fn mismatch(value: &Json, wanted: &str) -> YamlError {
    YamlError::Type {
        found: kind(value),
        wanted: wanted.to_owned(),
    }
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
pub(crate) fn json_of(node: &Node) -> Result<Json, UnsupportedNumber> {
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

fn json_of_scalar(scalar: &Scalar) -> Result<Json, UnsupportedNumber> {
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

fn number(value: f64) -> Result<Json, UnsupportedNumber> {
    let spelled = match value {
        value if value.is_nan() => "NaN",
        value if value > 0.0 => "+Inf",
        _ => "-Inf",
    };
    let number = Number::from_f64(value).map(Json::Number);
    number.ok_or(UnsupportedNumber(spelled))
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
