//! Converts JSON values to nodes.

use crate::node::{Entry, Mapping, Node, Scalar, Style, Tag, Value};
use serde_json::Value as Json;

/// The value as a node without a place.
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
        // The quotes mark a multi-line text that is not to be printed and read again.
        Json::String(text) => Node::new(Value::Scalar(Scalar {
            style: Style::Double,
            ..Scalar::string(text.as_str())
        })),
        Json::Array(items) => Node::sequence(items.iter().map(node_of_json).collect()),
        Json::Object(members) => {
            let entries = members.iter().map(|(key, value)| {
                let value = node_of_json(value);
                Entry {
                    key: Scalar::string(key.as_str()),
                    place: value.place,
                    value,
                }
            });
            Node::new(Value::Mapping(Mapping {
                entries: entries.collect(),
                ..Mapping::default()
            }))
        }
    }
}
