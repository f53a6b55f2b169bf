//! Identity of values by their texts.

use bumpwright_template::Value;

/// Appends all texts of a struct, in the order of its fields. The order of the bytes is that of the fields: an end
/// sorts before every byte, and NULs are escaped.
pub(super) fn put_texts(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::String(text) => {
            for part in text.split_inclusive(|byte| *byte == 0) {
                key.extend_from_slice(part);
                if part.ends_with(b"\0") {
                    key.push(1);
                }
            }
            key.extend_from_slice(b"\0\0");
        }
        Value::Struct(of) => of.fields().iter().for_each(|field| put_texts(field, key)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::put_texts;
    use bumpwright_template::Value;

    #[test]
    fn bytes_order_as_texts_do() {
        let mut all = [
            "", "\0", "\0\0", "\0a", "\u{1}", "a", "a\0", "a\0b", "a\u{1}", "aa", "b",
        ];
        all.sort_unstable();
        let keys = all.map(|text| {
            let mut key = Vec::new();
            put_texts(&Value::from(text), &mut key);
            key
        });
        assert!(keys.is_sorted(), "{keys:?}");
        let mut different = keys.to_vec();
        different.dedup();
        assert_eq!(different.len(), all.len());
    }
}
