//! The hash of an object's content at the end of its name.

use bumpwright_yaml::{Entry, FileId, Node, Place, Scalar, Style, Tag, Value, WriteError, write_json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Ten letters and digits for the content of an object: type and data of a ConfigMap or Secret, the whole of any other,
/// including its spelling.
///
/// # Errors
///
/// The object has a value without a form in JSON, such as `.nan`.
pub fn name_hash(object: &Node) -> Result<String, WriteError> {
    let text = |key: &str| object.text_at(&[key]);
    let mut content = Node::mapping();
    if let Some(map) = content.as_mapping_mut() {
        // kustomize looks for a field `metadata/name`, which no object has.
        map.set("name", Node::string(""));
        map.set("kind", Node::string(text("kind")));
        map.set("data", value(object, "data"));
        let more = match text("kind") {
            "Secret" => {
                map.set("type", Node::string(text("type")));
                "stringData"
            }
            _ => "binaryData",
        };
        if object.get(more).is_some_and(|node| node.as_mapping().is_some()) {
            map.set(more, value(object, more));
        }
    }
    let mut json = String::new();
    match text("kind") {
        "ConfigMap" | "Secret" => write_json(&content, &mut json)?,
        _ => write_tree(object, &mut json)?,
    }
    Ok(encode(&Sha256::digest(json.as_bytes())))
}

/// Writes a tree as encoding/json writes nodes of yaml.v3: not their values, but their spelling and place. Comments are
/// left out.
fn write_tree(node: &Node, out: &mut String) -> Result<(), WriteError> {
    let place = node.place;
    match &node.value {
        Value::Scalar(scalar) => write_scalar(scalar, tag_of(&scalar.tag), place, out),
        Value::Sequence(sequence) => {
            begin(2, collection_style(sequence.flow), out);
            write_tag(sequence.tag.as_deref(), "!!seq", place, out)?;
            let items = sequence.items.iter();
            write_content(items.map(|item| |out: &mut String| write_tree(item, out)), out)?;
            end(place, out);
            Ok(())
        }
        Value::Mapping(mapping) => {
            begin(4, collection_style(mapping.flow), out);
            write_tag(mapping.tag.as_deref(), "!!map", place, out)?;
            let entries = mapping.entries.iter();
            let entries = entries.map(|entry| {
                |out: &mut String| {
                    // A key created by kyaml has no tag.
                    let is_made = entry.place.line == 0 || is_added(entry);
                    let tag = if is_made { "" } else { tag_of(&entry.key.tag) };
                    write_scalar(&entry.key, tag, entry.place, out)?;
                    out.push(',');
                    write_tree(&entry.value, out)
                }
            });
            write_content(entries, out)?;
            end(place, out);
            Ok(())
        }
    }
}

/// Whether an entry was added by a field of a kustomization: only its key then has a place.
pub(crate) fn is_added(entry: &Entry) -> bool {
    entry.place.file != FileId::NONE && entry.value.place == Place::NONE
}

fn write_scalar(scalar: &Scalar, tag: &str, place: Place, out: &mut String) -> Result<(), WriteError> {
    let style = match scalar.style {
        Style::Plain => 0,
        Style::Double => 2,
        Style::Single => 4,
        Style::Literal => 8,
        Style::Folded => 16,
    };
    // A node without a tag was created by kyaml, and has no place.
    let place = if tag.is_empty() { Place::NONE } else { place };
    begin(8, style, out);
    write_string(tag, out)?;
    out.push_str(",\"Value\":");
    write_string(&scalar.text, out)?;
    out.push_str(",\"Anchor\":\"\",\"Alias\":null,\"Content\":null");
    end(place, out);
    Ok(())
}

const fn collection_style(flow: bool) -> u8 {
    if flow { 32 } else { 0 }
}

fn begin(kind: u8, style: u8, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "{{\"Kind\":{kind},\"Style\":{style},\"Tag\":");
}

fn write_tag(given: Option<&str>, own: &str, place: Place, out: &mut String) -> Result<(), WriteError> {
    let default = if place.line > 0 { own } else { "" };
    write_string(given.unwrap_or(default), out)?;
    out.push_str(",\"Value\":\"\",\"Anchor\":\"\",\"Alias\":null,\"Content\":");
    Ok(())
}

fn write_content<W>(nodes: impl ExactSizeIterator<Item = W>, out: &mut String) -> Result<(), WriteError>
where
    W: Fn(&mut String) -> Result<(), WriteError>,
{
    if nodes.len() == 0 {
        out.push_str("null");
        return Ok(());
    }
    for (at, write) in nodes.enumerate() {
        out.push(if at == 0 { '[' } else { ',' });
        write(out)?;
    }
    out.push(']');
    Ok(())
}

fn end(place: Place, out: &mut String) {
    let _ = write!(
        out,
        ",\"HeadComment\":\"\",\"LineComment\":\"\",\"FootComment\":\"\",\"Line\":{},\"Column\":{}}}",
        place.line, place.column
    );
}

fn write_string(text: &str, out: &mut String) -> Result<(), WriteError> {
    let mut node = Node::string(text);
    if let Value::Scalar(scalar) = &mut node.value {
        scalar.style = Style::Double;
    }
    write_json(&node, out)
}

fn tag_of(tag: &Tag) -> &str {
    match tag {
        Tag::Null => "!!null",
        Tag::Bool => "!!bool",
        Tag::Int => "!!int",
        Tag::Float => "!!float",
        Tag::Timestamp => "!!timestamp",
        Tag::Str => "!!str",
        Tag::Binary => "!!binary",
        Tag::Merge => "!!merge",
        Tag::Other(tag) => tag,
    }
}

/// A scalar as its text, null as the empty text, anything else as it is.
fn value(object: &Node, key: &str) -> Node {
    match object.get(key) {
        Some(node) if node.as_scalar().is_none() => node.clone(),
        Some(node) => Node::string(node.as_scalar().map_or("", |scalar| scalar.text.as_str())),
        None => Node::string(""),
    }
}

/// The first ten hexadecimal digits; those that could make words or look alike are letters instead.
fn encode(digest: &[u8]) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let letter = |digit: u8| match digit {
        0 => 'g',
        1 => 'h',
        3 => 'k',
        10 => 'm',
        14 => 't',
        _ => char::from_digit(u32::from(digit), 16).unwrap_or('0'),
    };
    digits.take(10).map(letter).collect()
}
