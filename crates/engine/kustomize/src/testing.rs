//! Conversion of nodes from and to JSON, for the tests of this crate.
#![allow(clippy::unwrap_used, clippy::panic)]

use bumpwright_yaml::{Node, Scalar, Style, Tag, Value};
use serde_json::Value as Json;

/// The node of a JSON text; strings are in double quotes, so that they stay strings.
pub(crate) fn node(text: &str) -> Node {
    of(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

fn of(json: &Json) -> Node {
    let scalar = |text: String, tag, style| {
        Node::new(Value::Scalar(Scalar {
            text: text.into(),
            tag,
            style,
        }))
    };
    match json {
        Json::Null => Node::null(),
        Json::Bool(flag) => scalar(flag.to_string(), Tag::Bool, Style::Plain),
        Json::Number(number) if number.is_f64() => scalar(number.to_string(), Tag::Float, Style::Plain),
        Json::Number(number) => scalar(number.to_string(), Tag::Int, Style::Plain),
        Json::String(text) => scalar(text.clone(), Tag::Str, Style::Double),
        Json::Array(items) => Node::sequence(items.iter().map(of).collect()),
        Json::Object(entries) => {
            let mut node = Node::mapping();
            for (key, value) in entries {
                node.as_mapping_mut().unwrap().set(key, of(value));
            }
            node
        }
    }
}

/// The node as JSON: keys in their order, scalars by their tag.
pub(crate) fn json(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) => match scalar.tag {
            Tag::Null => "null".to_owned(),
            Tag::Int | Tag::Float | Tag::Bool => scalar.text.to_string(),
            _ => Json::String(scalar.text.to_string()).to_string(),
        },
        Value::Sequence(sequence) => {
            let items: Vec<_> = sequence.items.iter().map(json).collect();
            format!("[{}]", items.join(","))
        }
        Value::Mapping(mapping) => {
            let entry = |key: &str, value| format!("{}:{}", Json::String(key.to_owned()), json(value));
            let entries = mapping.entries.iter().map(|each| entry(&each.key.text, &each.value));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}
