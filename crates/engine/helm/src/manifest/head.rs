//! What Helm reads of a document: its kind and its annotations.

use crate::yaml::{read, spelled};
use bumpwright_yaml::{Mapping, Node, Tag, Value};

/// The head of a document.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) kind: String,
    pub(super) annotations: Vec<(String, String)>,
}

impl Head {
    /// Reads a document.
    ///
    /// # Errors
    /// It is not YAML, or a part of its head has the wrong type.
    pub(super) fn read(content: &str) -> Result<Self, String> {
        let node = read(content.as_bytes())?;
        let mut head = Self::default();
        let Some(root) = mapping(&node, "Go value of type util.SimpleHead")? else {
            return Ok(head);
        };
        if let Some(version) = get(root, "apiVersion") {
            text(version, "SimpleHead.apiVersion")?;
        }
        if let Some(kind) = get(root, "kind") {
            head.kind = text(kind, "SimpleHead.kind")?;
        }
        let Some(metadata) = get(root, "metadata") else {
            return Ok(head);
        };
        let Some(metadata) = mapping(metadata, "Go struct field SimpleHead.metadata of type struct")? else {
            return Ok(head);
        };
        if let Some(name) = get(metadata, "name") {
            text(name, "SimpleHead.metadata.name")?;
        }
        let Some(annotations) = get(metadata, "annotations") else {
            return Ok(head);
        };
        let wanted = "Go struct field SimpleHead.metadata.annotations of type map[string]string";
        for entry in mapping(annotations, wanted)?
            .iter()
            .flat_map(|mapping| &mapping.entries)
        {
            let value = text(&entry.value, "SimpleHead.metadata.annotations")?;
            head.annotations.push((entry.key.text.to_string(), value));
        }
        Ok(head)
    }
}

fn get<'n>(mapping: &'n Mapping, name: &str) -> Option<&'n Node> {
    let entries = || mapping.entries.iter().rev();
    let found = entries().find(|entry| entry.key.text == name);
    let found = found.or_else(|| entries().find(|entry| entry.key.text.eq_ignore_ascii_case(name)));
    found.map(|entry| &entry.value)
}

fn mapping<'n>(node: &'n Node, wanted: &str) -> Result<Option<&'n Mapping>, String> {
    match &node.value {
        Value::Mapping(mapping) => Ok(Some(mapping)),
        Value::Scalar(scalar) if scalar.tag == Tag::Null => Ok(None),
        _ => Err(mismatch(node, wanted)),
    }
}

fn text(node: &Node, field: &str) -> Result<String, String> {
    match &node.value {
        Value::Scalar(scalar) if scalar.tag == Tag::Null => Ok(String::new()),
        Value::Scalar(scalar) => Ok(spelled(scalar)),
        _ => Err(mismatch(node, &format!("Go struct field {field} of type string"))),
    }
}

fn mismatch(node: &Node, wanted: &str) -> String {
    let kind = match &node.value {
        Value::Mapping(_) => "object",
        Value::Sequence(_) => "array",
        Value::Scalar(scalar) => match scalar.tag {
            Tag::Bool => "bool",
            Tag::Int | Tag::Float => "number",
            _ => "string",
        },
    };
    format!("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into {wanted}")
}
