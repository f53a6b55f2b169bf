//! Estimates of the memory that trees take, known before they are created, so that it can be reserved.

use super::node::{Entry, Node, Value};

/// A key with its value, and an item of a list: growing lists have up to twice the room that they need. A test compares
/// the constants with the types.
const ENTRY: u64 = 2 * size_of::<Entry>() as u64;
const ITEM: u64 = 2 * size_of::<Node>() as u64;

/// Bytes that a map of serde_json takes beside its entries, and each entry: leaves of a B-tree have room for eleven.
const MAP: u64 = 640;
const PLACE: u64 = 120;

/// Upper bound of the tree of a text, apart from aliases, which are bounded by themselves. Each entry of a mapping
/// needs a colon, each item a comma, a dash or a bracket; a mapping in a list is likely to be an object of its own.
/// Manifests take a dozen times their length, measured; this estimate is at least that, and for lists of digits sixty.
#[must_use]
pub fn of_text(text: &[u8]) -> u64 {
    let mut weight = 2 * text.len() as u64;
    let mut before = b'\n';
    for byte in text {
        weight += match byte {
            b':' | b'?' => ENTRY,
            b',' | b'[' => ITEM,
            b'{' => ENTRY + ITEM,
            b'-' if before == b'\n' => 2 * ITEM,
            b'-' if matches!(before, b' ' | b'\t') => ITEM,
            _ => 0,
        };
        before = *byte;
    }
    weight
}

/// The size of a node.
#[must_use]
pub fn of_node(node: &Node) -> u64 {
    total(node, |node, _| match &node.value {
        Value::Scalar(scalar) => scalar.text.len() as u64,
        Value::Sequence(sequence) => ITEM * sequence.items.len() as u64,
        Value::Mapping(mapping) => {
            let keys = mapping.entries.iter().map(|entry| entry.key.text.len() as u64);
            ENTRY * mapping.entries.len() as u64 + keys.sum::<u64>()
        }
    })
}

/// Upper bound of the size of a node as JSON in memory.
#[must_use]
pub fn of_json(node: &Node) -> u64 {
    total(node, |node, _| match &node.value {
        Value::Scalar(scalar) => PLACE + scalar.text.len() as u64,
        Value::Sequence(_) => PLACE,
        Value::Mapping(mapping) => {
            let keys = mapping.entries.iter().map(|entry| PLACE + entry.key.text.len() as u64);
            PLACE + MAP + keys.sum::<u64>()
        }
    })
}

/// Upper bound of the size of a node's text as YAML or JSON: nested text is indented on each line.
#[must_use]
pub fn printed(node: &Node) -> u64 {
    let text = |text: &str, depth: u64| {
        let lines = 1 + memchr_count(text);
        6 * text.len() as u64 + lines * (2 * depth + 8)
    };
    total(node, |node, depth| match &node.value {
        Value::Scalar(scalar) => text(&scalar.text, depth),
        Value::Sequence(sequence) => (2 * depth + 8) * sequence.items.len() as u64 + 4,
        Value::Mapping(mapping) => {
            let keys = mapping.entries.iter().map(|entry| text(&entry.key.text, depth) + 4);
            keys.sum::<u64>() + 4
        }
    })
}

fn memchr_count(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Visits a node without recursion.
fn total(node: &Node, of_one: impl Fn(&Node, u64) -> u64) -> u64 {
    let mut sum: u64 = 0;
    let mut waiting = vec![(node, 0)];
    while let Some((node, depth)) = waiting.pop() {
        sum = sum.saturating_add(of_one(node, depth));
        match &node.value {
            Value::Scalar(_) => {}
            Value::Sequence(sequence) => waiting.extend(sequence.items.iter().map(|item| (item, depth + 1))),
            Value::Mapping(mapping) => waiting.extend(mapping.entries.iter().map(|entry| (&entry.value, depth + 1))),
        }
    }
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{FileId, read_resources, write_json, write_sigs};

    fn nodes(text: &str) -> Vec<Node> {
        read_resources(text.as_bytes(), FileId::NONE).unwrap()
    }

    #[test]
    fn what_is_read_never_weighs_more_than_its_text_said() {
        let deep = format!("a: {}1{}\n", "[".repeat(500), "]".repeat(500));
        for text in [
            "kind: A\nmetadata:\n  name: b\nlist:\n- 1\n- - 2\n  - 3\n-\n- {a: b}\n",
            "{a: 1, b: [1,2,3,4], c: {d: {}}, ? x : y}\n",
            "a: 'text'\nb: |\n  lines\n  of text\nc: >-\n  folded\n",
            "a: {? b, ? c, d}\n",
            &deep,
        ] {
            let read: u64 = nodes(text).iter().map(of_node).sum();
            assert!(read <= of_text(text.as_bytes()), "{text:.40}: {read}");
        }
    }

    #[test]
    fn what_is_printed_is_never_longer_than_was_said() {
        let deep = format!(
            "a: {}[1, \"x\\ny\\nz\", \"\\u0001\\u0002\"]{}\n",
            "[".repeat(200),
            "]".repeat(200)
        );
        for text in ["a: b\nc:\n- d\n- e: f\n  g: {h: [], i: {}}\n", deep.as_str()] {
            for node in nodes(text) {
                let (mut yaml, mut json) = (String::new(), String::new());
                write_sigs(&node, &mut yaml).unwrap();
                write_json(&node, &mut json).unwrap();
                let most = printed(&node);
                assert!(
                    yaml.len().max(json.len()) as u64 <= most,
                    "{} {} {most}",
                    yaml.len(),
                    json.len()
                );
            }
        }
    }
}
