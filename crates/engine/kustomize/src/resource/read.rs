//! Parses a text into resources: documents, with lists expanded.

use super::Resource;
use super::object::is_nil_or_empty;
use crate::schema::SchemaChoice;
use bumpwright_yaml::{FileId, Node, Place, ReadError as YamlError, Value, WriteError, revalue};

/// A text without valid resources.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// It is not YAML.
    #[error(transparent)]
    Malformed(#[from] YamlError),
    /// A document is not a mapping, or has no metadata at all.
    #[error("not a Kubernetes object: it has neither apiVersion nor kind nor metadata")]
    NoObject(Place),
    /// An object has no kind.
    #[error("the object has no kind")]
    NoKind(Place),
    /// An object has no name.
    #[error("the {kind} has no metadata.name")]
    NoName {
        /// The place where it begins.
        place: Place,
        kind: String,
    },
    /// The `items` of a list are not a list.
    #[error("the items of the {kind} must be a list")]
    NoItems {
        place: Place,
        /// The kind of the list.
        kind: String,
    },
    /// Lists are nested too deeply.
    #[error("lists are nested more than {MAX_LISTS} deep")]
    Depth(Place),
    /// A list has a value without a form in JSON.
    #[error(transparent)]
    Json(#[from] WriteError),
    /// Bytes that are not UTF-8.
    #[error("the text is not UTF-8")]
    Encoding,
}

const MAX_LISTS: usize = 100;

impl ReadError {
    /// The place of the error.
    #[must_use]
    pub fn place(&self) -> Place {
        match self {
            Self::Malformed(error) => error.place,
            Self::Json(error) => error.place,
            Self::NoObject(place)
            | Self::NoKind(place)
            | Self::NoName { place, .. }
            | Self::NoItems { place, .. }
            | Self::Depth(place) => *place,
            Self::Encoding => Place::NONE,
        }
    }

    /// Whether the text is not YAML at all.
    #[must_use]
    pub const fn is_malformed(&self) -> bool {
        matches!(self, Self::Malformed(_) | Self::Encoding)
    }
}

/// The resources that the documents of a text describe, in order.
///
/// # Errors
///
/// The text is not YAML, or a document is not an object with kind and name.
pub fn read_resources(bytes: &[u8], file: FileId, schema: &SchemaChoice) -> Result<Vec<Resource>, ReadError> {
    let documents = bumpwright_yaml::read_resources(bytes, file)?;
    resources_of(unwrapped(documents), schema)
}

/// A single document of kind `List` or `ResourceList` is replaced by its items.
fn unwrapped(mut documents: Vec<Node>) -> Vec<Node> {
    let [document] = documents.as_mut_slice() else {
        return documents;
    };
    let wraps = matches!(
        document.get("kind").and_then(Node::as_str),
        Some("List" | "ResourceList")
    );
    if !wraps || (document.get("items").is_none() && document.get("functionConfig").is_none()) {
        return documents;
    }
    match document.get_mut("items").map(|items| &mut items.value) {
        Some(Value::Sequence(items)) => std::mem::take(&mut items.items),
        _ => Vec::new(),
    }
}

/// The resources of some nodes: empty ones dropped, lists expanded after all others.
///
/// # Errors
///
/// A node is not an object with kind and name.
fn resources_of(nodes: Vec<Node>, schema: &SchemaChoice) -> Result<Vec<Resource>, ReadError> {
    let mut resources = Vec::with_capacity(nodes.len());
    let mut round = nodes;
    let mut depth = 0;
    while !round.is_empty() {
        let mut inner = Vec::new();
        for node in round {
            if is_nil_or_empty(&node) {
                continue;
            }
            check(&node)?;
            match items(node)? {
                Expanded::Object(node) => resources.push(Resource::new(node, schema)),
                Expanded::Items(items) => inner.extend(items),
            }
        }
        depth += 1;
        if depth > MAX_LISTS {
            let place = inner.first().map_or(Place::NONE, |node| node.place);
            return Err(ReadError::Depth(place));
        }
        round = inner;
    }
    Ok(resources)
}

/// Checks that a node is an object with kind and name; lists need no name.
///
/// # Errors
///
/// It is not one.
pub fn check(node: &Node) -> Result<(), ReadError> {
    let text = |path: &[&str]| node.text_at(path);
    let empty = |key: &str| node.get(key).is_none_or(is_nil_or_empty);
    if empty("apiVersion") && empty("kind") && empty("metadata") {
        return Err(ReadError::NoObject(node.place));
    }
    let kind = text(&["kind"]);
    if kind.is_empty() {
        return Err(ReadError::NoKind(node.place));
    }
    if !kind.ends_with("List") && text(&["metadata", "name"]).is_empty() {
        return Err(ReadError::NoName {
            place: node.place,
            kind: kind.to_owned(),
        });
    }
    Ok(())
}

enum Expanded {
    Object(Node),
    Items(Vec<Node>),
}

/// The items of an object whose kind ends in `List`.
fn items(mut node: Node) -> Result<Expanded, ReadError> {
    let kind = node.text_at(&["kind"]).to_owned();
    if !kind.ends_with("List") {
        return Ok(Expanded::Object(node));
    }
    let Some(items) = node.get_mut("items") else {
        return Ok(Expanded::Object(node));
    };
    if items.is_null() {
        return Ok(Expanded::Items(Vec::new()));
    }
    match &mut items.value {
        Value::Sequence(_) => {}
        _ => {
            return Err(ReadError::NoItems {
                place: items.place,
                kind,
            });
        }
    }
    // kustomize turns the list into values, but its items into nodes.
    revalue(&mut node)?;
    let items = node.get_mut("items").and_then(Node::as_items_mut);
    Ok(Expanded::Items(items.map_or_else(Vec::new, std::mem::take)))
}
