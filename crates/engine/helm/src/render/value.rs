//! JSON as values of templates.

use bumpwright_json::Float;
use serde_json::Value as Json;

use crate::values::Values;
use bumpwright_template::Value;

/// A value of JSON as Go decodes it.
pub(super) fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64().filter(|_| !number.is_f64()) {
            Some(number) => Value::int64(number),
            None => Value::float(number.float64()),
        },
        Json::String(text) => Value::text(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(value_of).collect()),
        Json::Object(entries) => table_of(entries),
    }
}

/// The value of a table.
pub(super) fn table_of(entries: &Values) -> Value {
    Value::dict(entries.iter().map(|(key, value)| (key.as_str(), value_of(value))))
}
