//! Texts of JSON objects.
//!
//! An object of a cluster or a manifest may lack any field, or have something else there. As in Kubernetes' own code
//! (`unstructured.NestedString`), that is the same as an empty text.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

use serde::Serialize;
use serde_json::{Map, Number, Value};

/// Texts and values at places of a value; empty and null without one.
pub trait Texts {
    /// The value at a JSON pointer.
    fn value_at(&self, pointer: &str) -> &Value;
    /// The text of a field.
    fn text_of(&self, field: &str) -> &str;

    /// The text at a JSON pointer.
    fn text_at(&self, pointer: &str) -> &str;
}

impl Texts for Value {
    fn value_at(&self, pointer: &str) -> &Value {
        at(self, pointer).unwrap_or(&Value::Null)
    }
    fn text_of(&self, field: &str) -> &str {
        text(self.get(field))
    }

    fn text_at(&self, pointer: &str) -> &str {
        text(at(self, pointer))
    }
}

/// Fields of an object without the value around it.
pub trait TextFields {
    /// The text of a field; empty without one.
    fn text_of(&self, field: &str) -> &str;
}

impl TextFields for Map<String, Value> {
    fn text_of(&self, field: &str) -> &str {
        text(self.get(field))
    }
}

/// The JSON of a value of ours, whose maps have texts as keys. If that fails it is a bug: programs with debug
/// assertions stop, others have an empty text.
#[track_caller]
pub fn written(value: &impl Serialize) -> String {
    text_of_ours(serde_json::to_string(value))
}

#[track_caller]
pub fn indented(value: &impl Serialize) -> String {
    text_of_ours(serde_json::to_string_pretty(value))
}

#[track_caller]
fn text_of_ours(text: serde_json::Result<String>) -> String {
    debug_assert!(text.is_ok(), "the value has no form in JSON: {text:?}");
    text.unwrap_or_default()
}

/// Numbers as Go has them once they are in an `interface{}`.
pub trait Float {
    /// The number as `float64`; the nearest one for large integers.
    fn float64(&self) -> f64;
}

impl Float for Number {
    fn float64(&self) -> f64 {
        // Only `arbitrary_precision`, which is not on, has numbers without one.
        self.as_f64().unwrap_or(f64::NAN)
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or("")
}

/// [`Value::pointer`], which makes two texts for each step. Only escapes and lists need them.
fn at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    let Some(steps) = pointer.strip_prefix('/').filter(|_| !pointer.contains('~')) else {
        return value.pointer(pointer);
    };
    let mut found = value;
    for step in steps.split('/') {
        found = match found {
            Value::Object(fields) => fields.get(step)?,
            Value::Array(_) => found.pointer(&format!("/{step}"))?,
            _ => return None,
        };
    }
    Some(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_a_text_is_an_empty_one() {
        let object = json!({"kind": "Pod", "metadata": {"name": "web", "generation": 1, "a/b": "c"}});
        assert_eq!(object.text_of("kind"), "Pod");
        for (pointer, expected) in [
            ("/kind", "Pod"),
            ("/metadata/name", "web"),
            ("/metadata/a~1b", "c"),
            ("/metadata/generation", ""),
            ("/metadata", ""),
            ("/spec/name", ""),
            ("kind", ""),
        ] {
            assert_eq!(object.text_at(pointer), expected, "{pointer}");
        }
        for field in ["metadata", "spec"] {
            assert_eq!(object.text_of(field), "");
        }
        assert_eq!(
            (object.value_at("/metadata/generation"), object.value_at("/spec")),
            (&json!(1), &Value::Null)
        );
    }

    #[test]
    fn pointers_lead_where_those_of_serde_json_do() {
        let object = json!({"": {"": 1}, "a": [{"b": "c"}, [2]], "x/y": {"~": 3}, "0": 4, "n": null});
        for pointer in [
            "", "/", "//", "///", "a", "/a", "/a/", "/a/0", "/a/0/b", "/a/0/b/c", "/a/00", "/a/+1", "/a/1/0", "/a/2",
            "/a/-", "/0", "/n", "/n/x", "/x~1y", "/x~1y/~0", "/x/y",
        ] {
            let expected = object.pointer(pointer);
            assert_eq!(at(&object, pointer), expected, "{pointer}");
            assert_eq!(object.value_at(pointer), expected.unwrap_or(&Value::Null), "{pointer}");
        }
    }

    #[test]
    fn values_of_ours_are_written() {
        assert_eq!(written(&("a", 1)), r#"["a",1]"#);
        assert_eq!(indented(&[1]), "[\n  1\n]");
    }

    #[test]
    #[should_panic(expected = "no form in JSON")]
    fn a_map_with_other_keys_is_a_bug() {
        written(&std::collections::BTreeMap::from([((1, 2), 3)]));
    }

    #[test]
    fn every_number_is_a_float() {
        for (text, expected) in [
            ("0", 0.0),
            ("-1", -1.0),
            ("1e300", 1e300),
            ("18446744073709551615", 2_f64.powi(64)),
        ] {
            let number: Number = serde_json::from_str(text).unwrap();
            assert_eq!(number.float64().to_bits(), f64::to_bits(expected), "{text}");
        }
    }

    #[test]
    fn an_object_has_texts_like_its_value() {
        let object = json!({"kind": "Pod", "number": 1});
        let fields = object.as_object().unwrap();
        assert_eq!(
            (fields.text_of("kind"), fields.text_of("number"), fields.text_of("x")),
            ("Pod", "", "")
        );
    }
}
