//! What tells one value from another: all texts in it, with their lengths.

use crate::template::Value;

/// What tells one struct of texts from another.
pub(super) fn texts(value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    collect(value, &mut key);
    key
}

/// What tells one image of one policy from another: the reference says nothing that its text, beyond the fields, does not.
pub(super) fn image_identity(image: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    if let Value::Struct(image) = image {
        image.fields().iter().skip(1).for_each(|value| collect(value, &mut key));
    }
    key
}

fn collect(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::String(text) => {
            key.extend_from_slice(&text.len().to_le_bytes());
            key.extend_from_slice(text);
        }
        Value::Struct(of) => of.fields().iter().for_each(|field| collect(field, key)),
        _ => {}
    }
}
