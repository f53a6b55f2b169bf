//! Accessors of fields, with the semantics and errors of apimachinery's `unstructured`.

use super::go_value::{show, type_of};
use serde_json::Value;

/// An object whose status cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HealthError {
    /// One of the fields that are read first is of the wrong type.
    #[error("looking up {path} from resource: {source}")]
    LookUp {
        /// The field, such as `metadata.generation`.
        path: &'static str,
        source: AccessError,
    },
    /// Another field is of the wrong type.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The conditions are not a list of conditions, with Go's message.
    #[error("{0}")]
    Conditions(String),
    /// A pod is in an unknown phase.
    #[error("unknown phase {0}")]
    Phase(String),
    /// The status of a container is not valid. (Flux's controller panics.)
    #[error("the status of a container has no {0}, or one of another type; the API server has none such")]
    Container(&'static str),
}

/// A value of the wrong type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(".{path} accessor error: {value} is of the type {found}, expected {expected}")]
pub struct AccessError {
    path: String,
    value: String,
    found: &'static str,
    expected: &'static str,
}

impl AccessError {
    fn new(path: &[&str], value: &Value, expected: &'static str) -> Self {
        Self {
            path: path.join("."),
            value: show(value),
            found: type_of(value),
            expected,
        }
    }
}

/// The value at a path; `None` if a part of the path is missing or null.
pub(crate) fn nested<'v>(object: &'v Value, path: &[&str]) -> Result<Option<&'v Value>, AccessError> {
    let mut value = object;
    for (at, field) in path.iter().enumerate() {
        value = match value {
            Value::Null => return Ok(None),
            Value::Object(members) => match members.get(*field) {
                Some(member) => member,
                None => return Ok(None),
            },
            other => {
                let walked = path.get(..=at).unwrap_or(path);
                return Err(AccessError::new(walked, other, "map[string]interface{}"));
            }
        };
    }
    Ok(Some(value))
}

/// `NestedString`.
pub(crate) fn nested_text<'v>(object: &'v Value, path: &[&str]) -> Result<Option<&'v str>, AccessError> {
    nested(object, path)?
        .map(|value| value.as_str().ok_or_else(|| AccessError::new(path, value, "string")))
        .transpose()
}

/// `NestedInt64`.
pub(crate) fn nested_int(object: &Value, path: &[&str]) -> Result<Option<i64>, AccessError> {
    nested(object, path)?
        .map(|value| value.as_i64().ok_or_else(|| AccessError::new(path, value, "int64")))
        .transpose()
}

/// `NestedSlice`.
pub(crate) fn nested_list<'v>(object: &'v Value, path: &[&str]) -> Result<Option<&'v [Value]>, AccessError> {
    nested(object, path)?
        .map(|value| {
            let list = value.as_array().map(Vec::as_slice);
            list.ok_or_else(|| AccessError::new(path, value, "[]interface{}"))
        })
        .transpose()
}

/// A text, or `default` if it is not one.
pub(crate) fn text<'v>(object: &'v Value, path: &[&str], default: &'static str) -> &'v str {
    let value = nested(object, path).ok().flatten();
    value.and_then(Value::as_str).unwrap_or(default)
}

/// A whole number, or `default` if it is not one.
pub(crate) fn int(object: &Value, path: &[&str], default: i64) -> i64 {
    let value = nested(object, path).ok().flatten();
    value.and_then(Value::as_i64).unwrap_or(default)
}

/// Whether there is a boolean that is true.
pub(crate) fn is_true(object: &Value, path: &[&str]) -> bool {
    nested(object, path).ok().flatten() == Some(&Value::Bool(true))
}
