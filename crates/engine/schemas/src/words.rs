//! Values as messages show them.

use bumpwright_gostd::quote;
use bumpwright_text::Excerpt;
use serde_json::Value;

/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// A value: a scalar as it is, cut short if it is long; of others the type alone, as API servers do.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        other => format!("\"{}\"", type_of(other)),
    }
}

pub(crate) fn quoted(text: &str) -> String {
    quote(&text.excerpt(SHOWN))
}

/// The name of a value's type in JSON.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
