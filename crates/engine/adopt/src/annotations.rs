//! Annotations taken out of a file, byte-exactly, with a proof that nothing else changed.

use std::collections::BTreeMap;
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

/// The text without annotations, how many are gone, and for each object that keeps them why: its layout does not permit
/// it. Offsets are those of `old`, to which `new` has added comments alone.
pub(crate) fn without(old: &str, new: &str, removals: &[Removal]) -> (String, usize, Vec<String>) {
    let documents = match parse_as_written(old) {
        Ok(documents) => documents,
        Err(error) => return (new.to_owned(), 0, vec![error.message]),
    };
    let ways = ways_to(&documents, removals);
    if let Some(text) = ways.as_ref().and_then(|ways| without_all(new, ways)) {
        return (
            text,
            removals.iter().map(|removal| removal.keys.len()).sum(),
            Vec::new(),
        );
    }
    // One by one, so that only those stay that have to.
    let (mut text, mut gone, mut left) = (new.to_owned(), 0, Vec::new());
    for removal in removals {
        let ways = ways_to(&documents, std::slice::from_ref(removal));
        let shorter = ways.as_ref().and_then(|ways| ways.first()).ok_or_else(unusual);
        let shorter = shorter.and_then(|(way, keys)| {
            keys.iter().try_fold(text.clone(), |text, key| {
                without_all(&text, &[(way.clone(), std::slice::from_ref(key))]).ok_or_else(unusual)
            })
        });
        match shorter {
            Ok(shorter) => {
                text = shorter;
                gone += removal.keys.len();
            }
            Err(why) => left.push(why),
        }
    }
    (text, gone, left)
}

/// The text without all of these, which are cut at once; none where that is not what remains.
fn without_all(text: &str, ways: &[(Way, &[String])]) -> Option<String> {
    let documents = parse_as_written(text).ok()?;
    let (mut spans, mut moves) = (Vec::new(), Moves::default());
    for (way, keys) in ways {
        let metadata = follow(&documents, way)?;
        let annotations = metadata.get("annotations")?;
        if annotations.entries().len() == keys.len() {
            spans.push(removal(text, metadata, "annotations")?)
        } else {
            for key in *keys {
                spans.push(removal(text, annotations, key)?);
            }
        }
        for key in *keys {
            moves.remove(annotation(way, key));
        }
    }
    spans.sort_unstable_by_key(|span| span.start);
    let (mut new, mut end) = (String::with_capacity(text.len()), 0);
    for span in spans {
        // The slice between overlapping spans does not exist.
        new.push_str(text.get(end..span.start)?);
        end = span.end;
    }
    new.push_str(text.get(end..)?);
    moves.explain(&documents, &new).then_some(new)
}

fn annotation(way: &Way, key: &str) -> Way {
    let below = ["annotations".to_owned(), key.to_owned()];
    way.iter().cloned().chain(below).collect()
}

fn unusual() -> String {
    "its annotations are written in a way that is not rewritten here; remove them by hand".to_owned()
}

/// The ways to the mappings whose annotations go; none if one of them is not found.
fn ways_to<'r>(documents: &[Rc<Node>], removals: &'r [Removal]) -> Option<Vec<(Way, &'r [String])>> {
    let wanted = removals.iter().map(|removal| (removal.metadata, None)).collect();
    let (mut found, mut way) = (Found(wanted), Way::new());
    for (n, document) in documents.iter().enumerate() {
        found.below(n.to_string(), document, &mut way);
    }
    let ways = removals.iter().map(|removal| {
        let way = found.0.get(&removal.metadata)?.clone()?;
        Some((way, removal.keys.as_slice()))
    });
    ways.collect()
}

/// The ways to the wanted mappings, by the byte where each begins.
struct Found(BTreeMap<usize, Option<Way>>);

impl Found {
    fn below(&mut self, key: String, node: &Node, way: &mut Way) {
        way.push(key);
        let is_metadata = matches!(node.value, Value::Map { .. }) && way.last().is_some_and(|key| key == "metadata");
        if let Some(found) = self.0.get_mut(&node.span.start).filter(|_| is_metadata) {
            found.get_or_insert_with(|| way.clone());
        }
        for (n, item) in node.items().iter().enumerate() {
            self.below(n.to_string(), item, way);
        }
        for entry in node.entries() {
            self.below(entry.name().to_owned(), &entry.node, way);
        }
        way.pop();
    }
}

fn follow<'n>(documents: &'n [Rc<Node>], way: &[String]) -> Option<&'n Node> {
    let (first, rest) = way.split_first()?;
    let mut node: &Node = documents.get(first.parse::<usize>().ok()?)?;
    for key in rest {
        node = if node.items().is_empty() {
            node.get(key)?
        } else {
            node.items().get(key.parse::<usize>().ok()?)?
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
        match without(text, text, &[removal]) {
            (text, gone, left) if left.is_empty() => {
                assert_eq!(gone, keys.len());
                Ok(text)
            }
            (same, gone, mut left) => {
                assert_eq!((same.as_str(), gone), (text, 0));
                Err(left.remove(0))
            }
        }
    }

    #[test]
    fn what_has_to_stay_keeps_no_other() {
        let text = "metadata:\n  annotations:\n    a: '1'\n    b: 2\n---\nmetadata:\n  annotations:\n    a: &v '1'\n    b: *v\n";
        let documents = parse_as_written(text).unwrap();
        let removals: Vec<Removal> = documents
            .iter()
            .map(|document| Removal {
                metadata: document.get("metadata").unwrap().span.start,
                keys: vec!["a".to_owned()],
            })
            .collect();
        let (new, gone, left) = without(text, text, &removals);
        assert_eq!(new, text.replacen("    a: '1'\n", "", 1));
        assert_eq!((gone, left.len()), (1, 1));
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
