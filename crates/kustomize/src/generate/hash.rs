//! The hash of an object's content that its name ends with.

use bumpwright_yaml::{Node, WriteError, write_json};
use sha2::{Digest, Sha256};

/// Ten letters and digits for the content of an object: type and data of a ConfigMap or Secret, the whole of any other.
///
/// # Errors
///
/// The object has a value that JSON has not, such as `.nan`.
pub fn name_hash(object: &Node) -> Result<String, WriteError> {
    let text = |key: &str| object.get(key).and_then(Node::as_str).unwrap_or_default();
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
    let hashed = match text("kind") {
        "ConfigMap" | "Secret" => &content,
        _ => object,
    };
    let mut json = String::new();
    write_json(hashed, &mut json)?;
    Ok(encode(&Sha256::digest(json.as_bytes())))
}

/// A scalar as its text, nothing as the empty text, anything else as it is.
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
