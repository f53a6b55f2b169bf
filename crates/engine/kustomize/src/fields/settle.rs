//! Merges duplicate fields of a mapping that differ in case: Go's encoding/json decodes all of them into one place.
//!
//! They come in the order of JSON, which is that of their bytes: `NamePrefix` before `namePrefix`. The last text or
//! number counts, and null is ignored. Mappings get the fields of the later one added, and so do the elements of lists,
//! each at its place; a list is as long as the last one. Null removes a list or a mapping, and an empty list removes
//! what the elements of later ones would be added to.

use super::error::ConfigError;
use bumpwright_yaml::{Entry, Mapping, Node, Place, Scalar, Tag, Value};
use compact_str::CompactString;
use std::borrow::Cow;

/// Fields with mappings whose keys are the user's own: case distinguishes them.
const MAPS: [&str; 7] = [
    "annotations",
    "commonAnnotations",
    "commonLabels",
    "labels",
    "openapi",
    "pairs",
    "valuesInline",
];

/// A tree without duplicate fields. Where only strings are accepted as strings (`exact`), as in a kustomization, a
/// field cannot have a number first and a string later.
///
/// # Errors
/// A field has values of several kinds: it cannot have all of them.
pub fn settle(node: &Node, exact: bool) -> Result<Cow<'_, Node>, ConfigError> {
    if !is_unsettled(node) {
        return Ok(Cow::Borrowed(node));
    }
    let mut node = node.clone();
    sort(&mut node);
    Rules { exact }.settle(&mut node)?;
    Ok(Cow::Owned(node))
}

/// A tree without the fields that match `names` only in another case: for what Go reads as YAML, where case counts.
#[must_use]
pub(crate) fn with_case(node: &Node, names: &[&str]) -> Node {
    let mut node = node.clone();
    drop_others(&mut node, names);
    node
}

fn drop_others(node: &mut Node, names: &[&str]) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(sequence) => sequence.items.iter_mut().for_each(|item| drop_others(item, names)),
        Value::Mapping(mapping) => {
            mapping.entries.retain(|entry| {
                let is = |name: &&str| entry.key.text.eq_ignore_ascii_case(name) && entry.key.text != *name;
                !names.iter().any(is)
            });
            let values = mapping.entries.iter_mut().map(|entry| &mut entry.value);
            values.for_each(|value| drop_others(value, names));
        }
    }
}

fn is_map(name: &str, value: &Node) -> bool {
    value.as_mapping().is_some() && MAPS.iter().any(|map| map.eq_ignore_ascii_case(name))
}

fn is_unsettled(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => false,
        Value::Sequence(sequence) => sequence.items.iter().any(is_unsettled),
        Value::Mapping(mapping) => {
            let mut names: Vec<CompactString> = mapping.entries.iter().map(name_of).collect();
            names.sort_unstable();
            let below = |entry: &Entry| !is_map(&entry.key.text, &entry.value) && is_unsettled(&entry.value);
            names.windows(2).any(|pair| pair.first() == pair.last()) || mapping.entries.iter().any(below)
        }
    }
}

/// The name of a field in one case.
fn name_of(entry: &Entry) -> CompactString {
    entry.key.text.to_ascii_lowercase()
}

/// Sorts all fields as JSON does.
fn sort(node: &mut Node) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(sequence) => sequence.items.iter_mut().for_each(sort),
        Value::Mapping(mapping) => {
            mapping.entries.sort_by(|one, other| one.key.text.cmp(&other.key.text));
            mapping.entries.iter_mut().for_each(|entry| sort(&mut entry.value));
        }
    }
}

/// How values are merged.
#[derive(Clone, Copy)]
struct Rules {
    exact: bool,
}

impl Rules {
    fn settle(self, node: &mut Node) -> Result<(), ConfigError> {
        match &mut node.value {
            Value::Scalar(_) => Ok(()),
            Value::Sequence(sequence) => sequence.items.iter_mut().try_for_each(|item| self.settle(item)),
            Value::Mapping(mapping) => {
                self.settle_fields(mapping)?;
                let mut fields = mapping.entries.iter_mut();
                fields.try_for_each(|entry| {
                    if is_map(&entry.key.text, &entry.value) {
                        Ok(())
                    } else {
                        self.settle(&mut entry.value)
                    }
                })
            }
        }
    }

    fn settle_fields(self, mapping: &mut Mapping) -> Result<(), ConfigError> {
        let mut groups: Vec<(CompactString, Vec<Entry>)> = Vec::new();
        for entry in mapping.entries.drain(..) {
            let name = name_of(&entry);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, group)) => group.push(entry),
                None => groups.push((name, vec![entry])),
            }
        }
        for (_, group) in groups {
            mapping.entries.extend(self.one_of(group)?);
        }
        Ok(())
    }

    /// Merges several fields into one.
    fn one_of(self, group: Vec<Entry>) -> Result<Option<Entry>, ConfigError> {
        let mut entries = group.into_iter();
        let Some(mut field) = entries.next() else {
            return Ok(None);
        };
        // The former content of Go's slice, which would show again once it grows.
        let mut had = field.value.items().to_vec();
        for entry in entries {
            let (name, place) = (entry.key.text.clone(), entry.value.place);
            let old = std::mem::replace(&mut field, entry);
            let is_map = is_map(&name, &old.value);
            if let (Some(_), Some(items)) = (old.value.as_items(), field.value.as_items_mut()) {
                self.grow(&mut had, items)
                    .ok_or_else(|| of_several_kinds(&name, place))?;
                continue;
            }
            let new = std::mem::replace(&mut field.value, Node::null());
            let joined = self.join(old.value, new, is_map, false);
            field.value = joined.ok_or_else(|| of_several_kinds(&name, place))?;
            had = field.value.items().to_vec();
        }
        Ok(Some(field))
    }

    /// Merges the elements of a later list with those of an earlier one.
    fn grow(self, had: &mut Vec<Node>, items: &mut [Node]) -> Option<()> {
        if items.is_empty() {
            had.clear();
        }
        for (at, item) in items.iter_mut().enumerate() {
            let new = std::mem::replace(item, Node::null());
            *item = match had.get_mut(at) {
                Some(old) => self.join(std::mem::replace(old, Node::null()), new, false, true)?,
                None => new,
            };
            match had.get_mut(at) {
                Some(old) => old.clone_from(item),
                None => had.push(item.clone()),
            }
        }
        Some(())
    }

    /// Merges two values; `None` for values of different kinds.
    fn join(self, old: Node, new: Node, is_map: bool, is_element: bool) -> Option<Node> {
        if new.is_null() {
            let stays = old.as_scalar().is_some() || (is_element && old.as_mapping().is_some());
            return Some(if stays { old } else { new });
        }
        if old.is_null() {
            return Some(new);
        }
        let place = new.place;
        let value = match (old.value, new.value) {
            (Value::Scalar(old), Value::Scalar(new)) => self.fit(&old, &new).then_some(Value::Scalar(new)),
            (Value::Mapping(mut old), Value::Mapping(new)) => {
                if is_map {
                    for entry in new.entries {
                        self.put(&mut old, entry)?;
                    }
                } else {
                    // Duplicates are merged when the mapping is settled.
                    old.entries.extend(new.entries)
                }
                Some(Value::Mapping(old))
            }
            (Value::Sequence(mut old), Value::Sequence(mut new)) => {
                self.grow(&mut old.items, &mut new.items)?;
                Some(Value::Sequence(new))
            }
            _ => None,
        };
        value.map(|value| Node::new(value).at(place))
    }

    /// Sets an entry of a map; `None` if it is of another kind than the one that it replaces.
    fn put(self, mapping: &mut Mapping, entry: Entry) -> Option<()> {
        let existing = mapping
            .entries
            .iter_mut()
            .find(|known| known.key.text == entry.key.text);
        let Some(existing) = existing else {
            mapping.entries.push(entry);
            return Some(());
        };
        let fit = match (&existing.value.value, &entry.value.value) {
            (Value::Scalar(old), Value::Scalar(new)) => self.fit(old, new),
            _ => true,
        };
        *existing = entry;
        fit.then_some(())
    }

    /// Whether two scalars can be the value of one field.
    fn fit(self, old: &Scalar, new: &Scalar) -> bool {
        let is_null = old.tag == Tag::Null || new.tag == Tag::Null;
        !self.exact || is_null || sort_of(&old.tag) == sort_of(&new.tag)
    }
}

/// The type of a scalar in JSON: a boolean, a number or a text.
const fn sort_of(tag: &Tag) -> u8 {
    match tag {
        Tag::Bool => 0,
        Tag::Int | Tag::Float => 1,
        _ => 2,
    }
}

fn of_several_kinds(name: &str, place: Place) -> ConfigError {
    ConfigError::Field {
        place,
        what: format!("field {name:?}"),
        problem: "is given more than once in different cases, with values of different types; keep one of them"
            .to_owned(),
    }
}
