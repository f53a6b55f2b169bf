//! Merges a patch without a change of the object's identity.

use super::{MergeError, Merged, merge};
use crate::fields::{new_string, untagged};
use crate::schema::Schema;
use bumpwright_yaml::{Entry, Mapping, Node, Place, Scalar, Style, Tag, Value};
use compact_str::CompactString;
use std::collections::HashMap;

/// The parts of an object's identity that a patch may change (`options:` of an entry in `patches`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// `allowNameChange`
    pub name: bool,
    /// `allowKindChange`
    pub kind: bool,
}

/// Merges `patch` into `object`, then restores name, namespace and kind, except where `changes` allows otherwise. The
/// namespace never changes.
pub fn apply(object: &mut Node, patch: Node, schema: &Schema, changes: Changes) -> Result<Merged, MergeError> {
    let text = |node: &Node, path: &[&str]| node.lookup(path).and_then(Node::as_str).unwrap_or("").to_owned();
    let name = text(object, &["metadata", "name"]);
    let namespace = text(object, &["metadata", "namespace"]);
    let kind = text(object, &["kind"]);
    if merge(object, patch, schema)? == Merged::Deleted {
        return Ok(Merged::Deleted);
    }
    if !changes.kind {
        set(object, "kind", &kind);
    }
    if !changes.name {
        set_metadata(object, "name", &name);
    }
    match namespace.as_str() {
        "" => {
            if let Some(metadata) = object.get_mut("metadata").and_then(Node::as_mapping_mut) {
                metadata.remove("namespace");
            }
        }
        _ => set_metadata(object, "namespace", &namespace),
    }
    Ok(Merged::Kept)
}

/// Prepares a copy of a patch for an object that a selector (`target:`) has found: it takes over the object's
/// apiVersion, and its labels and annotations become strings, nulls included (`a: null` sets `"null"` where it would
/// remove `a` in a patch without a target).
pub fn prepare(patch: &mut Node, object: &Node) {
    if let Some(version) = object.get("apiVersion").and_then(Node::as_str) {
        set(patch, "apiVersion", version);
    }
    let Some(metadata) = patch.get_mut("metadata").and_then(Node::as_mapping_mut) else {
        return;
    };
    for field in ["labels", "annotations"] {
        let Some(texts) = metadata.get_mut(field) else {
            continue;
        };
        match texts.as_mapping_mut().filter(|texts| !texts.entries.is_empty()) {
            Some(texts) => respell(texts),
            None => drop(metadata.remove(field)),
        }
    }
}

/// Writes labels or annotations as kustomize does when it sets all of them: strings, whatever their type and spelling,
/// and the last of duplicate keys.
pub(crate) fn respell(texts: &mut Mapping) {
    let mut entries: Vec<Entry> = Vec::with_capacity(texts.entries.len());
    let mut places = HashMap::new();
    for mut entry in texts.entries.drain(..) {
        make_string(&mut entry.value);
        match places.get(&entry.key.text).and_then(|at: &usize| entries.get_mut(*at)) {
            Some(known) => *known = entry,
            None => {
                places.insert(entry.key.text.clone(), entries.len());
                entries.push(entry);
            }
        }
    }
    texts.entries = entries;
    texts.flow = false;
}

/// The text of a value as a string; `None` for lists and mappings.
fn make_string(node: &mut Node) {
    let text = node
        .as_scalar()
        .map_or_else(CompactString::default, |scalar| scalar.text.clone());
    node.value = new_string(&text).value;
}

/// Sets a text in the metadata, which is created if missing.
fn set_metadata(object: &mut Node, key: &str, text: &str) {
    let Some(mapping) = object.as_mapping_mut() else {
        return;
    };
    let metadata = mapping.get_or_insert_with("metadata", Node::mapping);
    if metadata.as_mapping().is_none() {
        *metadata = Node::mapping();
    }
    set(metadata, key, text);
}

/// Sets a text under a key. It takes the style of the existing value, and without quotes has no tag: its type follows
/// from its text, also after the next change. A new value is a string.
fn set(node: &mut Node, key: &str, text: &str) {
    let Some(mapping) = node.as_mapping_mut() else {
        return;
    };
    let old = mapping.get(key);
    let style = old.and_then(Node::as_scalar).map_or(Style::Plain, |old| old.style);
    let tag = if old.is_none() && !text.is_empty() {
        Tag::Str
    } else {
        untagged(text, style)
    };
    let place = old.map_or(Place::NONE, |old| old.place);
    let text = text.into();
    mapping.set(key, Node::new(Value::Scalar(Scalar { text, tag, style })).at(place));
}
