//! Objects as a cluster gives them, to be compared like those of files.

use serde_json::Value as Json;

use super::fields::{Field, fields};
use crate::yaml::{Mapping, Node, Scalar, Style, Tag, Value};

/// As [`fields`](super::fields()), of JSON.
#[must_use]
pub fn json_fields(old: &Json, new: &Json, is_secret: bool) -> Vec<Field> {
    fields(&node_of_json(old), &node_of_json(new), is_secret)
}

/// The same as a node without a place.
#[must_use]
pub fn node_of_json(value: &Json) -> Node {
    let plain = |text: String, tag| {
        Node::new(Value::Scalar(Scalar {
            text: text.into(),
            tag,
            style: Style::Plain,
        }))
    };
    match value {
        Json::Null => Node::null(),
        Json::Bool(value) => plain(value.to_string(), Tag::Bool),
        Json::Number(number) if number.is_f64() => plain(number.to_string(), Tag::Float),
        Json::Number(number) => plain(number.to_string(), Tag::Int),
        Json::String(text) => Node::new(Value::Scalar(Scalar {
            style: Style::Double,
            ..Scalar::string(text.as_str())
        })),
        Json::Array(items) => Node::sequence(items.iter().map(node_of_json).collect()),
        Json::Object(members) => {
            let mut mapping = Mapping::default();
            for (key, value) in members {
                mapping.set(key, node_of_json(value));
            }
            Node::new(Value::Mapping(mapping))
        }
    }
}
