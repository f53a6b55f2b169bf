//! Comparison of objects of a cluster.

use serde_json::Value as Json;

use super::fields::{Field, fields};
use bumpwright_yaml::node_of_json;

/// As [`fields`](super::fields()), for JSON.
#[must_use]
pub fn json_fields(old: &Json, new: &Json, is_secret: bool) -> Vec<Field> {
    fields(&node_of_json(old), &node_of_json(new), is_secret)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::SecretMask;

    #[test]
    fn every_number_that_is_another_one_differs() {
        let number = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        for (old, new) in [
            ("0.10353709371032427", "0.10353709371032428"),
            ("4.951163595552555e-10", "4.951163595552557e-10"),
            ("1.2345678901234567e20", "1.2345678901234568e20"),
            ("9007199254740992", "9007199254740993"),
            ("18446744073709551614", "18446744073709551615"),
        ] {
            let found = json_fields(&json!({"a": number(old)}), &json!({"a": number(new)}), false);
            assert_eq!(found.len(), 1, "{old} {new}: {found:?}");
            assert_eq!(json_fields(&number(old), &number(old), false), []);
        }
    }

    #[test]
    fn texts_are_not_escaped_for_html() {
        let fields = || json_fields(&json!({"a": "x < y"}), &json!({"a": "50 && x"}), false);
        let field = fields().pop().unwrap();
        assert_eq!(
            (field.old.as_deref(), field.new.as_deref()),
            (Some(r#""x < y""#), Some(r#""50 && x""#))
        );
        // Else a secret would not be recognised.
        let mut masked = fields();
        SecretMask::new(BTreeSet::new(), ["50 && x".to_owned()]).hide_fields(("", "ConfigMap", "a"), &mut masked);
        assert_eq!(masked.pop().unwrap().new.as_deref(), Some("**"));
    }
}
