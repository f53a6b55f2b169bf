//! YAML as a tree for comparison, whatever the style of the text.
//!
//! A reader of its own, not `bumpwright_api::tree`: it checks what the program has written, also whether a scalar has
//! the same value for readers of YAML 1.1 and 1.2, and should not share the program's mistakes.

use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// A node of a document; aliases are written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Scalar(Scalar),
    List(Vec<Node>),
    /// In the order of the text.
    Map(Vec<(Node, Node)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub text: String,
    pub meaning: Meaning,
    /// The tag that was written, without its folder: `int`.
    pub tag: Option<String>,
}

/// What a scalar is read as. A plain scalar that any of YAML 1.1 and 1.2 reads as something else is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Null,
    Bool,
    Number,
    Date,
    Text,
}

enum Open {
    List(usize, Vec<Node>),
    Map(usize, Vec<(Node, Node)>, Option<Node>),
}

/// The documents that are not empty.
pub fn parse(text: &str) -> Result<Vec<Node>, String> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let (mut open, mut anchors, mut documents) = (Vec::new(), HashMap::new(), Vec::new());
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, _) = next.map_err(|e| e.to_string())?;
        let (node, anchor) = match event {
            Event::DocumentStart(..) => {
                anchors.clear();
                continue;
            }
            Event::SequenceStart(_, anchor, _) => {
                open.push(Open::List(anchor, Vec::new()));
                continue;
            }
            Event::MappingStart(_, anchor, _) => {
                open.push(Open::Map(anchor, Vec::new(), None));
                continue;
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|tag| tag.suffix().to_owned());
                (Node::Scalar(scalar(&text, style == ScalarStyle::Plain, tag)), anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(anchor, items)) => (Node::List(items), anchor),
                Some(Open::Map(anchor, entries, _)) => (Node::Map(entries), anchor),
                None => return Err("an end without a start".to_owned()),
            },
            Event::Alias(id) => match anchors.get(&id) {
                Some(node) => (Node::clone(node), 0),
                None => return Err("an alias to its own node".to_owned()),
            },
            _ => continue,
        };
        if anchor != 0 {
            anchors.insert(anchor, node.clone());
        }
        match open.last_mut() {
            None if node.is_null() => {}
            None => documents.push(node),
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map(_, entries, key)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(node),
            },
        }
    }
    Ok(documents)
}

fn scalar(text: &str, plain: bool, tag: Option<String>) -> Scalar {
    let meaning = match tag.as_deref() {
        None if plain => meaning(text),
        _ => Meaning::Text,
    };
    Scalar {
        text: text.to_owned(),
        meaning,
        tag,
    }
}

/// What a plain scalar is read as.
pub fn meaning(text: &str) -> Meaning {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "" | "~" | "null" => return Meaning::Null,
        "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" => return Meaning::Bool,
        ".nan" | ".inf" | "-.inf" | "+.inf" => return Meaning::Number,
        _ => {}
    }
    if is_number(&lower) {
        Meaning::Number
    } else if is_date(text) {
        Meaning::Date
    } else {
        Meaning::Text
    }
}

fn is_number(lower: &str) -> bool {
    let body = lower.strip_prefix(['+', '-']).unwrap_or(lower).replace('_', "");
    let all = |digits: &str, radix| !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    let based = [("0x", 16), ("0o", 8), ("0b", 2)];
    if let Some((prefix, radix)) = based.iter().find(|(prefix, _)| body.starts_with(prefix)) {
        return all(&body[prefix.len()..], *radix);
    }
    let starts = body.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    starts && (body.parse::<f64>().is_ok() || body.split(':').count() > 1 && body.split(':').all(|part| all(part, 10)))
}

fn is_date(text: &str) -> bool {
    let day = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split('-').collect();
    parts.len() == 3
        && parts[0].len() == 4
        && parts
            .iter()
            .all(|part| !part.is_empty() && part.len() <= 4 && part.chars().all(|c| c.is_ascii_digit()))
}

impl Node {
    pub fn is_null(&self) -> bool {
        matches!(
            self,
            Self::Scalar(Scalar {
                meaning: Meaning::Null,
                ..
            })
        )
    }

    /// As a loader of YAML 1.1 gives it, whose numbers with an exponent need a dot.
    pub fn value(&self) -> Value {
        match self {
            Self::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Self::Map(entries) => {
                let pair = |(key, node): &(Self, Self)| match key {
                    Self::Scalar(key) => (key.text.clone(), node.value()),
                    _ => panic!("a key that is not a scalar"),
                };
                Value::Object(entries.iter().map(pair).collect::<Map<_, _>>())
            }
            Self::Scalar(Scalar { text, meaning, .. }) => match meaning {
                Meaning::Null => Value::Null,
                Meaning::Bool if text.len() > 1 => {
                    Value::Bool(matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "on"))
                }
                Meaning::Number => match (text.parse::<i64>(), text.parse::<f64>()) {
                    (Ok(whole), _) => Value::from(whole),
                    (_, Ok(real)) if text.contains('.') => Value::from(real),
                    _ => Value::from(text.as_str()),
                },
                _ => Value::from(text.as_str()),
            },
        }
    }
}

/// The one document of a text, as a value.
pub fn value(text: &str) -> Value {
    let documents = parse(text).unwrap();
    documents.first().map_or(Value::Null, Node::value)
}
