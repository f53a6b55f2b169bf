//! Sets a scalar or an entry of a mapping, as kyaml's `FieldSetter` does.

use super::error::Fault;
use crate::growth;
use bumpwright_yaml::{
    Dialect, Entry, FileId, Node, Place, ReadOptions, Scalar, Style, Tag, Value, plain_tag, read_first,
};
use compact_str::CompactString;

/// Bytes that an entry of a mapping takes beside its texts.
const NEW_ENTRY: usize = 300;

/// Sets the text of a scalar. It keeps its style; without a `tag`, its type is inferred from text and style. Quotes
/// that remain make it a string whatever the tag, unless a tag stood before them: so kustomize reads its own output.
///
/// # Errors
/// The node is not a scalar.
pub fn set_scalar(node: &mut Node, text: &str, tag: Option<Tag>) -> Result<(), Fault> {
    let Value::Scalar(scalar) = &mut node.value else {
        return Err(Fault::wrong_kind(node, "ScalarNode"));
    };
    let reserved = growth::take_text(text);
    reserved.map_err(|error| Fault::new(node.place, error.to_string()))?;
    scalar.text = CompactString::new(text);
    let is_tagged = scalar.tag != Tag::Str;
    let tag = tag.filter(|_| scalar.style == Style::Plain || is_tagged);
    scalar.tag = tag.unwrap_or_else(|| untagged(text, scalar.style));
    if node.place.file == FileId::NONE {
        // The anchor is dropped; no alias can refer to the new value anyway.
        node.place = Place::NONE;
    }
    Ok(())
}

/// As [`set_scalar`], but keeps an existing text.
pub(crate) fn set_scalar_if_empty(node: &mut Node, text: &str, tag: Option<Tag>) -> Result<(), Fault> {
    if node.as_str().is_some_and(|text| !text.is_empty()) {
        return Ok(());
    }
    set_scalar(node, text, tag)
}

/// Sets an entry of a mapping to a string. An empty key stands for the node itself, which then must be a scalar.
///
/// # Errors
/// The node, or the value under the key, is of the wrong kind.
pub fn set_entry(node: &mut Node, key: &str, value: &Node) -> Result<(), Fault> {
    let text = value.written();
    if key.is_empty() {
        return set_scalar(node, text, Some(Tag::Str));
    }
    if node.is_null() {
        return Ok(());
    }
    let reserved = growth::take((NEW_ENTRY + key.len() + text.len()) as u64);
    reserved.map_err(|error| Fault::new(node.place, error.to_string()))?;
    let Value::Mapping(mapping) = &mut node.value else {
        return Err(Fault::wrong_kind(node, "MappingNode"));
    };
    match mapping.get_mut(key) {
        Some(field) => {
            let style = field.as_scalar().map_or(Style::Plain, |scalar| scalar.style);
            *field = Node::new(Value::Scalar(Scalar {
                text: text.into(),
                tag: Tag::Str,
                style,
            }));
        }
        // The key has the place of the setting, the value none of its own.
        None => mapping.entries.push(Entry {
            key: Scalar::string(key),
            place: value.place,
            value: new_string(text),
        }),
    }
    Ok(())
}

/// A string as kyaml writes it into a new field: a block if it has several lines, in quotes where YAML 1.1 would read
/// something else.
#[must_use]
pub(crate) fn new_string(text: &str) -> Node {
    let mut node = Node::string(text);
    if let Value::Scalar(scalar) = &mut node.value {
        scalar.style = if text.contains('\n') {
            Style::Literal
        } else if is_other_in_yaml_1_1(text) {
            Style::Double
        } else {
            Style::Plain
        };
    }
    node
}

/// Whether YAML 1.1 reads a one-line text as something other than a string: `yes`, `1:30`, `{x}`, `# x`.
#[must_use]
pub(crate) fn is_other_in_yaml_1_1(text: &str) -> bool {
    if text.is_empty() || text.contains('\n') {
        return false;
    }
    if plain_tag(text, Dialect::V2) != Tag::Str {
        return true;
    }
    // Of the others only those with such characters need to be parsed.
    let begin = text.trim_start();
    let is_word = !begin.starts_with(['{', '[', '-', '?', '#', '!', '&', '.']) && !begin.is_empty();
    if is_word && !text.contains(": ") && !text.ends_with(':') {
        return false;
    }
    let is_string = |node: Node| node.as_scalar().is_some_and(|scalar| scalar.tag == Tag::Str);
    match read_first(text.as_bytes(), &ReadOptions::sigs(FileId::NONE)) {
        Ok(read) => !read.is_some_and(is_string),
        Err(_) => false,
    }
}

/// The tag of a scalar that has none: a string where it is quoted, else inferred from its text, and changing with
/// it. It stays open, since kyaml makes such a scalar a string in a later merge.
#[must_use]
pub fn untagged(_text: &str, style: Style) -> Tag {
    match style {
        Style::Plain => Tag::Other(Box::default()),
        _ => Tag::Str,
    }
}
