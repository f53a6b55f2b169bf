//! Documents within scalars: a path may continue in the YAML or JSON text of a field.

use compact_str::CompactString;

use super::lookup::{lookup, lookup_mut};
use super::matcher::Search;
use super::yaml_text::{self, Changed};
use crate::fields::Fault;
use bumpwright_yaml::{FileId, Node, Place, ReadOptions, SequenceIndent, Value, read_first, write_json, write_kyaml};

/// Searches the document in the first scalar on the way of `path`, and writes it back with the changes.
///
/// Returns false, and changes nothing, if no scalar on the way holds a document, or nothing in it matches.
pub(super) fn replace(object: &mut Node, path: &[CompactString], search: &mut Search<'_>) -> bool {
    let Some((above, below)) = split(object, path) else {
        return false;
    };
    let Ok(Some(field)) = lookup_mut(object, above) else {
        return false;
    };
    let place = field.place;
    let Value::Scalar(scalar) = &mut field.value else {
        return false;
    };
    changed(&scalar.text, place, below, search).is_some_and(|text| {
        scalar.text = text.into();
        true
    })
}

/// A text with the changes of a search; none where nothing is found.
fn changed(text: &str, place: Place, path: &[CompactString], search: &mut Search<'_>) -> Option<String> {
    if !is_json(text) {
        match yaml_text::change(text, path, search) {
            Changed::Text(text) => return Some(text),
            Changed::Nothing => return None,
            Changed::Unknown => {}
        }
    }
    let mut document = read(text, place).ok()?;
    match search.run(&mut document, path).ok()? {
        0 => None,
        _ => write(&document, text),
    }
}

/// Whether a text is written as JSON.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Splits a path after the first scalar on its way that parses as a document.
fn split<'a>(object: &Node, path: &'a [CompactString]) -> Option<(&'a [CompactString], &'a [CompactString])> {
    let cuts = (1..path.len()).filter_map(|at| path.split_at_checked(at));
    let mut cuts = cuts.filter(|(above, _)| {
        let field = lookup(object, above).ok().flatten();
        let scalar = field.and_then(Node::as_scalar);
        scalar.is_some_and(|scalar| read(&scalar.text, Place::NONE).is_ok())
    });
    cuts.next()
}

/// Parses a text for a search: an alias is not what it refers to.
pub(super) fn searched(text: &str, place: Place) -> Result<Node, Fault> {
    let document = read(text, place)?;
    let shown = (!is_json(text)).then(|| yaml_text::nodes(text)).flatten();
    Ok(shown.unwrap_or(document))
}

/// Parses a text as a document. Its nodes have no place of their own.
fn read(text: &str, place: Place) -> Result<Node, Fault> {
    let document = read_first(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE));
    match document {
        Ok(Some(document)) => Ok(document),
        Ok(None) => Err(unreadable(
            place,
            "wrong node kind: the text is empty and has no fields",
        )),
        Err(error) => Err(unreadable(
            place,
            format!("the text of the field is not YAML: {}", error.go()),
        )),
    }
}

/// Writes a document in the format of `original`: as JSON on one line or many, or as YAML.
fn write(document: &Node, original: &str) -> Option<String> {
    if !is_json(original) {
        return Some(spell(document).trim().to_owned());
    }
    let mut json = String::new();
    write_json(document, &mut json).ok()?;
    let is_pretty = original.contains('\n') && original.contains("  ");
    Some(if is_pretty { indent(&json) } else { json })
}

/// A node as YAML.
pub(super) fn spell(node: &Node) -> String {
    let mut text = String::new();
    write_kyaml(node, SequenceIndent::Compact, &mut text);
    text
}

/// JSON with a line for each entry and item, two spaces for each level, as Go's `MarshalIndent` writes it.
fn indent(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut level = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    let mut chars = json.chars().peekable();
    let line = |out: &mut String, level: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    };
    while let Some(c) = chars.next() {
        if in_text {
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
            continue;
        }
        match c {
            '{' | '[' if chars.peek().is_some_and(|next| matches!(next, '}' | ']')) => {
                out.push(c);
                out.extend(chars.next());
            }
            '{' | '[' => {
                level += 1;
                out.push(c);
                line(&mut out, level);
            }
            '}' | ']' => {
                level = level.saturating_sub(1);
                line(&mut out, level);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, level);
            }
            ':' => out.push_str(": "),
            _ => {
                in_text = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// The error of a field of the wrong kind for a value, for [`structured`].
pub(super) fn unreadable(place: Place, problem: impl std::fmt::Display) -> Fault {
    Fault::new(place, problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_as_go_does() {
        let wanted = "{\n  \"a\": [\n    1,\n    \"x,\\\"{\"\n  ],\n  \"b\": {},\n  \"c\": []\n}";
        assert_eq!(indent(r#"{"a":[1,"x,\"{"],"b":{},"c":[]}"#), wanted);
    }
}
