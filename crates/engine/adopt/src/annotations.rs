//! Annotations taken out of a file, byte-exactly, with a proof that nothing else changed.

use std::rc::Rc;

use bumpwright_api::tree::{Node, Value, parse_as_written};
use bumpwright_migrate::{Moves, Path, removal};

/// The way to a node: documents, keys and indices.
type Way = Path;

/// Annotations that go, by the first byte of their object's `metadata`.
#[derive(Clone, Debug)]
pub(crate) struct Removal {
    pub(crate) metadata: usize,
    pub(crate) keys: Vec<String>,
}

/// The text without these annotations. Offsets are those of `old`, to which `new` has added comments alone.
///
/// # Errors
/// The layout does not permit it, in words.
pub(crate) fn without(old: &str, new: &str, removals: &[Removal]) -> Result<String, String> {
    let documents = parsed(old)?;
    let mut text = new.to_owned();
    for removal in removals {
        let way = way_to(&documents, removal.metadata).ok_or_else(unusual)?;
        for key in &removal.keys {
            text = without_one(&text, &way, key)?;
        }
    }
    Ok(text)
}

fn unusual() -> String {
    "its annotations are written in a way that is not rewritten here; remove them by hand".to_owned()
}

fn parsed(text: &str) -> Result<Vec<Rc<Node>>, String> {
    parse_as_written(text).map_err(|error| error.message)
}

fn without_one(text: &str, way: &Way, key: &str) -> Result<String, String> {
    let documents = parsed(text)?;
    let metadata = follow(&documents, way).ok_or_else(unusual)?;
    let annotations = metadata.get("annotations").ok_or_else(unusual)?;
    let (map, gone) = match annotations.entries().len() {
        1 => (metadata, "annotations"),
        _ => (annotations, key),
    };
    let span = removal(text, map, gone).ok_or_else(unusual)?;
    let (Some(before), Some(after)) = (text.get(..span.start), text.get(span.end..)) else {
        return Err(unusual());
    };
    let new = format!("{before}{after}");
    let mut path = way.clone();
    path.extend(["annotations".to_owned(), key.to_owned()]);
    let mut moves = Moves::default();
    moves.remove(path);
    match moves.explain(&documents, &new) {
        true => Ok(new),
        false => Err(unusual()),
    }
}

/// The way to the mapping that begins at a byte.
fn way_to(documents: &[Rc<Node>], start: usize) -> Option<Way> {
    let mut way = Way::new();
    documents.iter().enumerate().find_map(|(n, document)| {
        way.push(n.to_string());
        let found = search(document, start, &mut way).then(|| way.clone());
        way.pop();
        found
    })
}

fn search(node: &Node, start: usize, way: &mut Way) -> bool {
    let is_map = matches!(node.value, Value::Map { .. });
    if is_map && node.span.start == start && way.last().is_some_and(|key| key == "metadata") {
        return true;
    }
    let mut tried = |key: String, node: &Node| {
        way.push(key);
        let found = search(node, start, way);
        if !found {
            way.pop();
        }
        found
    };
    let items = node.items().iter().enumerate();
    for (n, item) in items {
        if tried(n.to_string(), item) {
            return true;
        }
    }
    node.entries()
        .iter()
        .any(|entry| tried(entry.name().to_owned(), &entry.node))
}

fn follow<'n>(documents: &'n [Rc<Node>], way: &[String]) -> Option<&'n Node> {
    let (first, rest) = way.split_first()?;
    let mut node: &Node = documents.get(first.parse::<usize>().ok()?)?;
    for key in rest {
        node = match node.items().is_empty() {
            true => node.get(key)?,
            false => node.items().get(key.parse::<usize>().ok()?)?,
        };
    }
    Some(node)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn gone(text: &str, keys: &[&str]) -> Result<String, String> {
        let documents = parse_as_written(text).unwrap();
        let removal = Removal {
            metadata: documents[0].get("metadata").unwrap().span.start,
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        };
        without(text, text, &[removal])
    }

    #[test]
    fn annotations_go_and_all_else_stays() {
        let text = "metadata:\n  name: x # why\n  annotations:\n    # ours\n    a/b: \"1\" # one\n    c: 2\nspec: {}\n";
        assert_eq!(
            gone(text, &["a/b"]).unwrap(),
            "metadata:\n  name: x # why\n  annotations:\n    # ours\n    c: 2\nspec: {}\n"
        );
        assert_eq!(
            gone(text, &["a/b", "c"]).unwrap(),
            "metadata:\n  name: x # why\nspec: {}\n"
        );
        let flow = "metadata: {name: x, annotations: {a: '1', b: '2'}}\n";
        assert_eq!(
            gone(flow, &["b"]).unwrap(),
            "metadata: {name: x, annotations: {a: '1'}}\n"
        );
        assert_eq!(gone(flow, &["a", "b"]).unwrap(), "metadata: {name: x}\n");
    }

    #[test]
    fn what_would_change_something_else_is_refused() {
        let merged = "x: &x {a: '1', b: '2'}\nmetadata:\n  annotations: *x\n";
        assert!(gone(merged, &["a"]).is_err());
        let anchored = "metadata:\n  annotations:\n    a: &v '1'\n    b: *v\n";
        assert!(gone(anchored, &["a"]).is_err());
    }
}
