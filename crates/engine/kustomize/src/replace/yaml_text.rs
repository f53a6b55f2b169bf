//! YAML within a scalar: a change of its fields leaves comments, anchors, aliases, tags and styles as they are.
//!
//! Fields are searched in nodes without all that; what has changed there is carried over. A node of the search has a
//! number in the place of its place, so that one which stands there instead of it is reported from it.

use super::matcher::Search;
use bumpwright_yaml::{
    Annotated, AnnotatedValue, Entry, FileId, Mapping, Node, Place, Scalar, Sequence, Style, Tag, Value,
    read_first_annotated, write_annotated_kyaml,
};
use compact_str::{CompactString, format_compact};

/// The tag of the scalar that stands for an alias in the search.
const ALIAS: &str = "\0alias";

/// The text with its changes, or why it has none.
pub(super) enum Changed {
    Text(String),
    /// No field matches, or one cannot have the value.
    Nothing,
    /// The text has something that the search cannot show, such as a list as a key.
    Unknown,
}

/// Searches a text, and writes it with the changes.
pub(super) fn change(text: &str, path: &[CompactString], search: &mut Search<'_>) -> Changed {
    let Ok(Some(mut document)) = read_first_annotated(text.as_bytes()) else {
        return Changed::Unknown;
    };
    let Some(before) = Numbered::default().node(&document.root) else {
        return Changed::Unknown;
    };
    let mut after = before.clone();
    let on_field = &mut *search.found;
    let mut whole = |field: &mut Node| {
        // kustomize replaces an alias as a whole: what it refers to has other users.
        if is_alias(field) {
            *field = Node::sequence(Vec::new());
        }
        on_field(field)
    };
    let new = search.new;
    match (Search { new, found: &mut whole }).run(&mut after, path) {
        Ok(0) | Err(_) => return Changed::Nothing,
        Ok(_) => {}
    }
    carry(&mut document.root, &before, &after);
    let mut written = String::with_capacity(text.len());
    write_annotated_kyaml(&document, &mut written);
    Changed::Text(written.trim().to_owned())
}

/// The nodes of a search through a text that is not changed.
pub(super) fn nodes(text: &str) -> Option<Node> {
    let document = read_first_annotated(text.as_bytes()).ok()??;
    Numbered::default().node(&document.root)
}

fn is_alias(node: &Node) -> bool {
    let scalar = node.as_scalar();
    scalar.is_some_and(|scalar| matches!(&scalar.tag, Tag::Other(tag) if &**tag == ALIAS))
}

/// Makes the nodes of a search.
#[derive(Default)]
struct Numbered {
    last: u32,
}

impl Numbered {
    fn node(&mut self, from: &Annotated) -> Option<Node> {
        self.last += 1;
        let place = Place {
            file: FileId::NONE,
            line: self.last,
            column: u32::MAX,
        };
        let value = match &from.value {
            AnnotatedValue::Scalar(scalar) => Value::Scalar(scalar.clone()),
            AnnotatedValue::Alias(_) => Value::Scalar(Scalar {
                text: format_compact!("*{}", from.anchor.as_deref().unwrap_or_default()),
                tag: Tag::Other(ALIAS.into()),
                style: Style::Plain,
            }),
            AnnotatedValue::Sequence(items) => Value::Sequence(Sequence {
                items: items.iter().map(|item| self.node(item)).collect::<Option<_>>()?,
                ..Sequence::default()
            }),
            AnnotatedValue::Mapping(entries) => Value::Mapping(Mapping {
                entries: entries
                    .iter()
                    .map(|(key, value)| self.entry(key, value))
                    .collect::<Option<_>>()?,
                ..Mapping::default()
            }),
        };
        Some(Node { place, value })
    }

    fn entry(&mut self, key: &Annotated, value: &Annotated) -> Option<Entry> {
        let AnnotatedValue::Scalar(key) = &key.value else {
            return None;
        };
        Some(Entry {
            key: key.clone(),
            place: Place::NONE,
            value: self.node(value)?,
        })
    }
}

/// Puts the changes between two nodes into the node that they were made from. Entries and items are only ever
/// added at the end.
fn carry(into: &mut Annotated, before: &Node, after: &Node) {
    if before.place != after.place {
        *into = fresh(after);
        return;
    }
    match (&mut into.value, &before.value, &after.value) {
        (AnnotatedValue::Scalar(scalar), Value::Scalar(_), Value::Scalar(after)) => scalar.clone_from(after),
        (AnnotatedValue::Sequence(items), Value::Sequence(before), Value::Sequence(after)) => {
            for (item, (before, after)) in items.iter_mut().zip(before.items.iter().zip(&after.items)) {
                carry(item, before, after);
            }
            items.extend(after.items.iter().skip(before.items.len()).map(fresh));
        }
        (AnnotatedValue::Mapping(entries), Value::Mapping(before), Value::Mapping(after)) => {
            let pairs = before.entries.iter().zip(&after.entries);
            for ((_, value), (before, after)) in entries.iter_mut().zip(pairs) {
                carry(value, &before.value, &after.value);
            }
            entries.extend(after.entries.iter().skip(before.entries.len()).map(fresh_entry));
        }
        (AnnotatedValue::Alias(_), ..) => {}
        _ => *into = fresh(after),
    }
}

/// A node that was not in the text.
fn fresh(node: &Node) -> Annotated {
    let (value, tag, flow) = match &node.value {
        Value::Scalar(scalar) => (AnnotatedValue::Scalar(scalar.clone()), None, false),
        Value::Sequence(list) => {
            let items = list.items.iter().map(fresh).collect();
            (AnnotatedValue::Sequence(items), list.tag.clone(), list.flow)
        }
        Value::Mapping(mapping) => {
            let entries = mapping.entries.iter().map(fresh_entry).collect();
            (AnnotatedValue::Mapping(entries), mapping.tag.clone(), mapping.flow)
        }
    };
    Annotated {
        tag,
        flow,
        ..Annotated::new(value)
    }
}

fn fresh_entry(entry: &Entry) -> (Annotated, Annotated) {
    let key = Annotated::new(AnnotatedValue::Scalar(entry.key.clone()));
    (key, fresh(&entry.value))
}
