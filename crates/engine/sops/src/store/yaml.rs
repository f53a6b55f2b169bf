//! YAML as SOPS reads and writes it.

use crate::tree::{Branch, Comment, Entry, Key, Text, Value};
use crate::wiped::Wiped;
use bumpwright_gostd::{RFC_3339_NANO, Time, format_float};
use bumpwright_yaml::{
    Annotated, AnnotatedDocument, AnnotatedValue, Dialect, Duplicates, FileId, MAX_DEPTH, Node, ReadError, ReadOptions,
    Resolved, Scalar, Style, Tag, Value as NodeValue, decode, is_base_60, plain_tag, read as read_yaml, read_annotated,
    read_first, write_annotated,
};
use zeroize::Zeroizing;

/// SOPS' spaces of one level.
const INDENT: usize = 4;

/// Why a text is not YAML for SOPS, in its words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum YamlReadError {
    #[error("{0}")]
    First(String),
    #[error("Error unmarshaling input YAML: {0}")]
    Text(String),
    #[error("yaml: unmarshal errors:\n  line {0}: cannot unmarshal {1} into map[string]interface {{}}")]
    NoMapping(u32, &'static str),
    #[error("Error unmarshaling input YAML: YAML documents that are sequences are not supported")]
    Sequence,
    #[error("Error unmarshaling input YAML: YAML documents that are values are not supported")]
    Scalar,
}

/// Why a tree cannot be written as YAML.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is not UTF-8")]
pub(crate) struct YamlWriteError;

fn options(duplicates: Duplicates) -> ReadOptions {
    ReadOptions {
        dialect: Dialect::V3,
        duplicates,
        max_depth: MAX_DEPTH,
        file: FileId::NONE,
    }
}

/// Parses documents. SOPS checks only the first one for duplicate keys.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Branch>, YamlReadError> {
    let go = |error: ReadError| error.go().to_owned();
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let first = read_first(bytes, &options(Duplicates::Refuse)).map_err(|error| YamlReadError::First(go(error)))?;
    match first {
        None => return Err(YamlReadError::First("EOF".to_owned())),
        Some(first) => check_first(&first)?,
    }
    // Nesting and aliases are limited there; the tree below also has the comments.
    read_yaml(bytes, &options(Duplicates::Keep)).map_err(|error| YamlReadError::Text(go(error)))?;
    let documents = read_annotated(bytes).map_err(|error| YamlReadError::Text(go(error)))?;
    documents.into_iter().map(branch_of).collect()
}

fn check_first(document: &Node) -> Result<(), YamlReadError> {
    let tag = match &document.value {
        NodeValue::Mapping(_) => return Ok(()),
        _ if document.is_null() => return Ok(()),
        NodeValue::Sequence(_) => "!!seq",
        NodeValue::Scalar(scalar) => match scalar.tag {
            Tag::Bool => "!!bool",
            Tag::Int => "!!int",
            Tag::Float => "!!float",
            Tag::Timestamp => "!!timestamp",
            _ => "!!str",
        },
    };
    Err(YamlReadError::NoMapping(document.place.line, tag))
}

fn branch_of(document: AnnotatedDocument) -> Result<Branch, YamlReadError> {
    let mut branch = Branch::new();
    comments(&document.head, false, &mut branch);
    root_into(document.root, &mut branch)?;
    comments(&document.foot, false, &mut branch);
    Ok(branch)
}

fn root_into(root: Annotated, branch: &mut Branch) -> Result<(), YamlReadError> {
    comments(&root.head, false, branch);
    comments(&root.line, false, branch);
    match root.value {
        AnnotatedValue::Mapping(entries) => entries_into(entries, branch),
        AnnotatedValue::Sequence(_) => return Err(YamlReadError::Sequence),
        AnnotatedValue::Scalar(scalar) if scalar.tag == Tag::Null => return Ok(()),
        AnnotatedValue::Scalar(_) => return Err(YamlReadError::Scalar),
        AnnotatedValue::Alias(other) => root_into(*other, branch)?,
    }
    comments(&root.foot, false, branch);
    Ok(())
}

/// The lines of a comment, each without its `#`.
fn comment_lines(text: &str, inline: bool) -> impl Iterator<Item = Comment> {
    let lines = text.split('\n').filter(|line| !line.is_empty());
    lines.map(move |line| Comment::new(line.strip_prefix('#').unwrap_or(line), inline))
}

fn comments(text: &str, inline: bool, branch: &mut Branch) {
    branch.extend(comment_lines(text, inline).map(Entry::comment));
}

fn entries_into(entries: Vec<(Annotated, Annotated)>, branch: &mut Branch) {
    for (key, value) in entries {
        comments(&key.head, false, branch);
        comments(&key.line, false, branch);
        // Comments at collections go into the collection.
        let outside = matches!(value.value, AnnotatedValue::Scalar(_) | AnnotatedValue::Alias(_));
        if outside {
            comments(&value.head, false, branch);
            comments(&value.line, true, branch);
        }
        let foot = value.foot.clone();
        let key_foot = key.foot.clone();
        branch.push(Entry {
            key: match value_of(key, true) {
                Value::Text(text) => Key::Name(text.to_vec()),
                other => Key::Other(other),
            },
            value: value_of(value, outside),
        });
        if outside {
            comments(&foot, false, branch);
        }
        comments(&key_foot, false, branch);
    }
}

/// `handled`: whether the caller has written the comments of the node itself.
fn value_of(node: Annotated, handled: bool) -> Value {
    match node.value {
        AnnotatedValue::Scalar(scalar) => leaf(&scalar),
        AnnotatedValue::Alias(other) => value_of(*other, false),
        AnnotatedValue::Mapping(entries) => {
            let mut branch = Branch::new();
            let (above, foot) = ([node.head, node.line], node.foot);
            if !handled {
                above.iter().for_each(|text| comments(text, false, &mut branch));
            }
            entries_into(entries, &mut branch);
            if !handled {
                comments(&foot, false, &mut branch);
            }
            Value::Branch(branch)
        }
        AnnotatedValue::Sequence(nodes) => {
            let mut items = Vec::with_capacity(nodes.len());
            let add = |items: &mut Vec<Value>, text: &str, inline| {
                items.extend(comment_lines(text, inline).map(Value::Comment));
            };
            if !handled {
                add(&mut items, &node.head, false);
                add(&mut items, &node.line, false);
            }
            for item in nodes {
                add(&mut items, &item.head, false);
                add(&mut items, &item.line, true);
                let foot = item.foot.clone();
                items.push(value_of(item, true));
                add(&mut items, &foot, false);
            }
            if !handled {
                add(&mut items, &node.foot, false);
            }
            Value::List(items)
        }
    }
}

/// A scalar that does not fit its tag is null: SOPS ignores the error.
fn leaf(scalar: &Scalar) -> Value {
    match decode(scalar, Dialect::V3) {
        Ok(Resolved::Null) | Err(_) => Value::Null,
        Ok(Resolved::Bool(boolean)) => Value::Bool(boolean),
        Ok(Resolved::Int(number)) => Value::Int(number),
        Ok(Resolved::Uint(number)) => Value::Uint(number),
        Ok(Resolved::Float(number)) => Value::Float(number),
        Ok(Resolved::Timestamp(time)) => match Time::parse(RFC_3339_NANO, time.as_bytes()) {
            Ok(time) => Value::Time(time),
            Err(_) => Value::text(time),
        },
        Ok(Resolved::Text(text)) => Value::text(text.as_bytes()),
        Ok(Resolved::Bytes(bytes)) => Value::text(bytes),
    }
}

pub(crate) fn write(branches: &[Branch], out: &mut Zeroizing<Vec<u8>>) -> Result<(), YamlWriteError> {
    let documents = branches.iter().map(|branch| AnnotatedDocument {
        head: String::new(),
        foot: String::new(),
        root: mapping_of(branch),
    });
    let documents = Wiped(documents.collect());
    let mut text = Zeroizing::new(String::with_capacity(out.capacity()));
    write_annotated(&documents.0, INDENT, &mut text);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Comments for the next node.
#[derive(Default)]
struct PendingComments {
    head: Vec<Text>,
    inline: Vec<Text>,
}

impl PendingComments {
    fn add(&mut self, comment: &Comment) {
        if comment.inline {
            self.inline.push(comment.text.clone())
        } else {
            self.head.push(comment.text.clone())
        }
    }
}

/// Puts comments before the existing ones, and removes them here.
fn above(slot: &mut String, comments: &mut Vec<Text>) {
    let text = lines(comments);
    if !text.is_empty() {
        *slot = if slot.is_empty() {
            text
        } else {
            format!("{text}\n{slot}")
        };
    }
}

/// Puts comments after the existing ones, and removes them here.
fn below(slot: &mut String, comments: &mut Vec<Text>) {
    let text = lines(comments);
    if !text.is_empty() {
        if !slot.is_empty() {
            slot.push('\n');
        }
        slot.push_str(&text);
    }
}

fn lines(comments: &mut Vec<Text>) -> String {
    let lines = comments
        .drain(..)
        .map(|text| format!("#{}", String::from_utf8_lossy(&text)));
    lines.collect::<Vec<_>>().join("\n")
}

fn mapping_of(branch: &Branch) -> Annotated {
    let mut waiting = PendingComments::default();
    let mut head = String::new();
    let mut entries: Vec<(Annotated, Annotated)> = Vec::with_capacity(branch.len());
    for entry in branch {
        let mut key = match &entry.key {
            Key::Comment(comment) => {
                waiting.add(comment);
                continue;
            }
            Key::Name(name) => scalar_of(name),
            Key::Other(other) => node_of(other),
        };
        if entries.is_empty() {
            above(&mut head, &mut waiting.head)
        } else {
            above(&mut key.head, &mut waiting.head)
        }
        let mut value = node_of(&entry.value);
        below(&mut value.line, &mut waiting.inline);
        entries.push((key, value));
    }
    let mut left = waiting.head;
    left.append(&mut waiting.inline);
    match entries.last_mut() {
        Some((key, _)) => below(&mut key.foot, &mut left),
        None => above(&mut head, &mut left),
    }
    Annotated {
        head,
        ..Annotated::new(AnnotatedValue::Mapping(entries))
    }
}

fn sequence_of(list: &[Value]) -> Annotated {
    let mut waiting = PendingComments::default();
    let mut head = String::new();
    let mut items: Vec<Annotated> = Vec::with_capacity(list.len());
    for item in list {
        if let Value::Comment(comment) = item {
            waiting.add(comment);
            continue;
        }
        let mut node = node_of(item);
        if items.is_empty() {
            above(&mut head, &mut waiting.head)
        } else {
            above(&mut node.head, &mut waiting.head)
        }
        below(&mut node.line, &mut waiting.inline);
        items.push(node);
    }
    let mut left = waiting.head;
    left.append(&mut waiting.inline);
    match items.last_mut() {
        Some(item) => below(&mut item.foot, &mut left),
        None => above(&mut head, &mut left),
    }
    Annotated {
        head,
        ..Annotated::new(AnnotatedValue::Sequence(items))
    }
}

fn node_of(value: &Value) -> Annotated {
    let plain = |text: String, tag| {
        Annotated::new(AnnotatedValue::Scalar(Scalar {
            text: text.into(),
            tag,
            style: Style::Plain,
        }))
    };
    match value {
        Value::Null => plain("null".to_owned(), Tag::Null),
        Value::Bool(boolean) => plain(boolean.to_string(), Tag::Bool),
        Value::Int(number) => plain(number.to_string(), Tag::Int),
        Value::Uint(number) => plain(number.to_string(), Tag::Int),
        Value::Float(number) => {
            let text = float_text(*number);
            let tag = plain_tag(&text, Dialect::V3);
            plain(text, tag)
        }
        Value::Time(time) => {
            let text = time.written(RFC_3339_NANO);
            let tag = plain_tag(&text, Dialect::V3);
            plain(text, tag)
        }
        Value::Text(text) => scalar_of(text),
        Value::List(items) => sequence_of(items),
        Value::Branch(branch) => mapping_of(branch),
        // Go's encoder sees a struct of two fields.
        Value::Comment(comment) => Annotated::new(AnnotatedValue::Mapping(vec![
            (scalar_of(b"value"), scalar_of(&comment.text)),
            (scalar_of(b"inline"), node_of(&Value::Bool(comment.inline))),
        ])),
    }
}

fn float_text(number: f64) -> String {
    match format_float(number, b'g', None, 64).as_str() {
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        "NaN" => ".nan".to_owned(),
        text => text.to_owned(),
    }
}

/// A string in the style of go-yaml's encoder: plain where every version reads it as a string.
fn scalar_of(bytes: &[u8]) -> Annotated {
    use base64::Engine;
    let scalar = match std::str::from_utf8(bytes) {
        // go-yaml writes a string that it would read as a merge key with its tag.
        Ok("<<") => Scalar {
            text: "<<".into(),
            tag: Tag::Other("tag:yaml.org,2002:merge".into()),
            style: Style::Plain,
        },
        Ok(text) => Scalar {
            text: text.into(),
            tag: Tag::Str,
            style: style_of(text),
        },
        Err(_) => Scalar {
            text: base64::engine::general_purpose::STANDARD.encode(bytes).into(),
            tag: Tag::Binary,
            style: Style::Plain,
        },
    };
    Annotated::new(AnnotatedValue::Scalar(scalar))
}

fn style_of(text: &str) -> Style {
    if text.contains('\n') {
        return Style::Literal;
    }
    let stays = plain_tag(text, Dialect::V3) == Tag::Str && !is_old_bool(text) && !is_base_60(text);
    if stays { Style::Plain } else { Style::Double }
}

/// Whether YAML 1.1 reads it as a boolean.
fn is_old_bool(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF"
    )
}
