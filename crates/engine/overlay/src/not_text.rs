//! Labels, annotations and namespaces of built objects that are not texts.

use std::fmt;

use bumpwright_yaml::{Files, Node};
use serde_json::Value;

/// A label, an annotation or the namespace of an object that is a number, a boolean, a list or a mapping, which
/// no API server takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotText {
    /// Its place in the artifact, as `path:line:column`; `None` in a generated object.
    pub place: Option<Box<str>>,
    /// `Kind namespace/name` of the object.
    pub object: String,
    /// The field: `metadata.labels.version`.
    pub field: String,
    /// The part of the metadata.
    pub part: Part,
    /// `a number`
    found: &'static str,
}

/// A part of the metadata in which all is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Labels. Flux reads none of them then, and sets its own: the others are lost in silence.
    Labels,
    /// Annotations. They are lost where the Kustomization sets some; else the API server refuses the object.
    Annotations,
    /// The namespace. The API server refuses the object.
    Namespace,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Annotations => "annotations",
            Self::Namespace => "namespace",
        }
    }
}

impl NotText {
    /// What is wrong, and the way out: without the value, which may be of a Secret.
    #[must_use]
    pub fn problem(&self) -> String {
        let Self { field, found, .. } = self;
        let way_out = match *found {
            "a list" | "a mapping" => "give it one value",
            _ => "put it in quotes; a variable needs them in its own value, as in '\"1.10\"'",
        };
        format!("{field} is {found} and has to be a text: {way_out}")
    }
}

/// `place: object: problem`
impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}: {}", self.object, self.problem())
    }
}

/// Adds those of an object, or of the items of a list of objects.
pub(super) fn find(node: &Node, value: &Value, files: &Files, found: &mut Vec<NotText>) {
    if let Some(items) = value.get("items").and_then(Value::as_array) {
        let nodes = node.items_at(&["items"]);
        items
            .iter()
            .zip(nodes)
            .for_each(|(value, node)| of_object(node, value, files, found));
        return;
    }
    of_object(node, value, files, found);
}

fn of_object(node: &Node, value: &Value, files: &Files, found: &mut Vec<NotText>) {
    let Some(metadata) = value.get("metadata") else { return };
    let mut check = |part: Part, key: Option<&str>, value: &Value| {
        let Some(kind) = other_than_text(value) else { return };
        let path: Vec<&str> = ["metadata", part.name()].into_iter().chain(key).collect();
        // That of the whole field, or of the object, where the entry has none.
        let places = (0..=path.len()).rev().filter_map(|length| {
            let place = node.lookup(path.get(..length)?)?.place;
            files.show(place)
        });
        found.push(NotText {
            place: places.map(Into::into).next(),
            object: title(node),
            field: shown(&path),
            part,
            found: kind,
        });
    };
    for part in [Part::Labels, Part::Annotations] {
        match metadata.get(part.name()) {
            None | Some(Value::Null) => {}
            Some(Value::Object(pairs)) => pairs.iter().for_each(|(key, value)| check(part, Some(key), value)),
            Some(other) => check(part, None, other),
        }
    }
    let namespace = metadata.get(Part::Namespace.name());
    check(Part::Namespace, None, namespace.unwrap_or(&Value::Null));
}

/// Null is an empty text.
const fn other_than_text(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null | Value::String(_) => None,
        Value::Bool(_) => Some("a boolean"),
        Value::Number(_) => Some("a number"),
        Value::Array(_) => Some("a list"),
        Value::Object(_) => Some("a mapping"),
    }
}

/// `Kind namespace/name`, as far as they are texts.
fn title(node: &Node) -> String {
    let text = |path: &[&str]| node.text_at(path);
    let name = [text(&["metadata", "namespace"]), text(&["metadata", "name"])].join("/");
    format!("{} {}", text(&["kind"]), name.trim_start_matches('/'))
}

fn shown(path: &[&str]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let steps = path.iter().map(|step| {
        if step.chars().all(is_plain) {
            format!(".{step}")
        } else {
            format!("[{step}]")
        }
    });
    steps.collect::<String>().trim_start_matches('.').to_owned()
}
