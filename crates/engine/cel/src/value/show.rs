//! Values as Go prints them in messages.

use bumpwright_gostd::{Duration, format_float};

use super::{Map, Value};

/// A value as Go's `%v` prints it.
pub fn show(value: &Value) -> String {
    match value {
        // Go has null as a number of an enumeration.
        Value::Null => "0".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => go_float(*value),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("[{}]", bytes.join(" "))
        }
        Value::List(list) => {
            let elements: Vec<String> = list.iter().map(show_within).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::Map(map) => show_map(map),
        Value::Timestamp(time) => String::from_utf8_lossy(&time.text()).into_owned(),
        Value::Duration(nanoseconds) => Duration(*nanoseconds).to_string(),
        Value::Type(name) => show_type_name(name).to_owned(),
        Value::Optional(Some(value)) => format!("optional({})", show(value)),
        Value::Optional(None) => "optional.none()".to_owned(),
    }
}

/// An element of a list, which usually comes from an object.
fn show_within(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        other => show(other),
    }
}

fn show_map(map: &Map) -> String {
    let entries: Vec<String> = map
        .iter()
        .map(|(key, value)| format!("{}: {}", show(&key.value()), show(value)))
        .collect();
    format!("{{{}}}", entries.join(", "))
}

/// A number as Go's `%v` and `%g` print it.
pub(crate) fn go_float(number: f64) -> String {
    format_float(number, b'g', None, 64)
}

/// The type of a value in messages, with its type parameters.
pub fn show_quoted_type(value: &Value) -> &'static str {
    show_type_name_static(value.type_name())
}

fn show_type_name_static(name: &'static str) -> &'static str {
    match name {
        "list" => "list(dyn)",
        "map" => "map(dyn, dyn)",
        other => other,
    }
}

fn show_type_name(name: &str) -> &str {
    match name {
        "list" => "list(dyn)",
        "map" => "map(dyn, dyn)",
        other => other,
    }
}
