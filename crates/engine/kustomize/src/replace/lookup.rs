//! The node at a path, as kyaml's `PathGetter` finds it: keys, positions in lists, `-` for the last item, and
//! `[key=value]` for the first item that holds the entry.

use super::error::NoSelection;
use crate::fields::{Fault, untagged};
use bumpwright_gostd::atoi;
use bumpwright_yaml::{Mapping, Node, Scalar, Sequence, Style, Tag, Value};
use compact_str::CompactString;

/// Parses `[key=value]`; `None` if the part has no brackets.
pub(super) fn split_selection(part: &str) -> Option<Result<(&str, &str), NoSelection>> {
    let inner = part.strip_prefix('[')?.strip_suffix(']')?;
    Some(inner.split_once('=').ok_or_else(|| NoSelection(part.to_owned())))
}

/// A part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Key(&'a str),
    Position(usize),
    Last,
    Item { key: &'a str, value: &'a str },
}

impl<'a> Part<'a> {
    fn of(part: &'a str, node: &Node) -> Result<Self, Fault> {
        let wrong = |problem: String| Fault::new(node.place, problem);
        if let Ok(index) = atoi(part) {
            let position = usize::try_from(index).map(Self::Position);
            return position.map_err(|_| wrong(format!("array index {index} cannot be negative")));
        }
        match part {
            "-" => Ok(Self::Last),
            "*" => Err(wrong("wildcard is not supported here; name one item".to_owned())),
            _ => match split_selection(part) {
                Some(selection) => {
                    let (key, value) = selection.map_err(|error| wrong(error.to_string()))?;
                    Ok(Self::Item { key, value })
                }
                None => Ok(Self::Key(part)),
            },
        }
    }
}

/// The trimmed parts that are not empty.
fn parts(path: &[CompactString]) -> impl Iterator<Item = &str> {
    path.iter().map(|part| part.trim()).filter(|part| !part.is_empty())
}

/// The node at `path`; `None` where a part is missing or null is on the way.
///
/// # Errors
/// A part is malformed, or does not fit the kind of its node.
pub fn lookup<'a>(node: &'a Node, path: &[CompactString]) -> Result<Option<&'a Node>, Fault> {
    let mut node = node;
    for part in parts(path) {
        let part = Part::of(part, node)?;
        if node.is_null() {
            return Ok(None);
        }
        let Some(next) = step(node, part)? else { return Ok(None) };
        node = next;
    }
    Ok(Some(node))
}

/// As [`lookup`], mutable.
pub fn lookup_mut<'a>(node: &'a mut Node, path: &[CompactString]) -> Result<Option<&'a mut Node>, Fault> {
    let mut node = node;
    for part in parts(path) {
        let part = Part::of(part, node)?;
        if node.is_null() {
            return Ok(None);
        }
        let Some(next) = step_mut(node, part)? else {
            return Ok(None);
        };
        node = next;
    }
    Ok(Some(node))
}

/// The scalar at `path`, created where it is missing, with the mappings and lists on the way; `None` where the path
/// names a position that a list does not have.
pub fn lookup_or_create<'a>(node: &'a mut Node, path: &[CompactString]) -> Result<Option<&'a mut Node>, Fault> {
    let mut node = node;
    let mut rest = parts(path).peekable();
    while let Some(part) = rest.next() {
        let next = new_for(rest.peek().copied());
        let Some(below) = step_or_create(node, part, next)? else {
            return Ok(None);
        };
        node = below;
    }
    Ok(Some(node))
}

fn step<'a>(node: &'a Node, part: Part<'_>) -> Result<Option<&'a Node>, Fault> {
    if let Part::Key(key) = part {
        return Ok(mapping(node)?.get(key));
    }
    let items = node.as_items().ok_or_else(|| Fault::wrong_kind(node, "SequenceNode"))?;
    Ok(position(items, part).and_then(|at| items.get(at)))
}

fn step_mut<'a>(node: &'a mut Node, part: Part<'_>) -> Result<Option<&'a mut Node>, Fault> {
    if let Part::Key(key) = part {
        mapping(node)?;
        return Ok(node.get_mut(key));
    }
    let wrong = Fault::wrong_kind(node, "SequenceNode");
    let items = node.as_items_mut().ok_or(wrong)?;
    Ok(position(items, part).and_then(|at| items.get_mut(at)))
}

fn step_or_create<'a>(node: &'a mut Node, part: &str, new: Node) -> Result<Option<&'a mut Node>, Fault> {
    let part = Part::of(part, node)?;
    let place = node.place;
    if let Part::Key(key) = part {
        let wrong = Fault::wrong_kind(node, "MappingNode");
        let mapping = node.as_mapping_mut().ok_or(wrong)?;
        return Ok(Some(mapping.get_or_insert_with(key, || new.at(place))));
    }
    let wrong = Fault::wrong_kind(node, "SequenceNode");
    let items = node.as_items_mut().ok_or(wrong)?;
    let at = position(items, part);
    if let (None, Part::Item { key, value }) = (at, part) {
        let mut item = new_item(key, value).at(place);
        settle_item(&mut item, key);
        items.push(item);
        return Ok(items.last_mut());
    }
    Ok(at.and_then(|at| items.get_mut(at)))
}

fn mapping(node: &Node) -> Result<&Mapping, Fault> {
    node.as_mapping().ok_or_else(|| Fault::wrong_kind(node, "MappingNode"))
}

/// The position of the item that a part matches.
fn position(items: &[Node], part: Part<'_>) -> Option<usize> {
    match part {
        Part::Key(_) => None,
        Part::Position(at) => Some(at),
        Part::Last => items.len().checked_sub(1),
        Part::Item { key: "", value } => {
            let text = |item: &Node| item.as_scalar().map_or("", |scalar| scalar.text.as_str()) == value;
            items.iter().position(text)
        }
        Part::Item { key, value } => items.iter().position(|item| {
            let field = item
                .get(key)
                .map(|field| field.as_scalar().map_or("", |scalar| scalar.text.as_str()));
            field == Some(value)
        }),
    }
}

/// A scalar whose tag is still to be inferred from its text.
pub(super) fn untagged_scalar(text: &str) -> Node {
    Node::new(Value::Scalar(Scalar {
        text: text.into(),
        tag: Tag::Other("".into()),
        style: Style::Plain,
    }))
}

/// An item found by `[key=value]`. Its text has no tag: see [`settle_item`].
pub(super) fn new_item(key: &str, value: &str) -> Node {
    let scalar = untagged_scalar(value);
    if key.is_empty() {
        return scalar;
    }
    let mut item = Mapping::default();
    item.set(key, scalar);
    Node::new(Value::Mapping(item))
}

/// Infers the tag of a new item's text, unless it has been set by then.
pub(super) fn settle_item(item: &mut Node, key: &str) {
    let scalar = if key.is_empty() { Some(item) } else { item.get_mut(key) };
    scalar.into_iter().for_each(settle_tag);
}

/// Infers the tag of a scalar without one.
pub(super) fn settle_tag(node: &mut Node) {
    if let Value::Scalar(scalar) = &mut node.value
        && is_unset(scalar)
    {
        scalar.tag = untagged(&scalar.text, scalar.style);
    }
}

/// Whether a scalar has no tag.
fn is_unset(scalar: &Scalar) -> bool {
    matches!(&scalar.tag, Tag::Other(tag) if tag.is_empty())
}

/// The node to create so that the `next` part of a path can be created in it.
pub(super) fn new_for(next: Option<&str>) -> Node {
    match next {
        None | Some("") => untagged_scalar(""),
        Some(next) if split_selection(next).is_some() || atoi(next).is_ok_and(|at| at >= 0) => {
            Node::new(Value::Sequence(Sequence::default()))
        }
        Some(_) => Node::mapping(),
    }
}
