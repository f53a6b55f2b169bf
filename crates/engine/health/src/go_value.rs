//! JSON values in Go's `fmt`: `%T` and `%v` of the types that apimachinery decodes them to.

use bumpwright_gostd::format_float;
use serde_json::{Number, Value};

/// The text of `%T`.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The text of `reflect.Kind`.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        scalar => type_of(scalar),
    }
}

/// The text of `%v`.
pub(crate) fn show(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                space(at, out);
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            out.push_str("map[");
            for (at, (key, member)) in members.into_iter().enumerate() {
                space(at, out);
                out.push_str(key);
                out.push(':');
                write(member, out);
            }
            out.push(']');
        }
    }
}

fn space(at: usize, out: &mut String) {
    if at > 0 {
        out.push(' ');
    }
}

fn number_text(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(number)) => format_float(number, b'g', None, 64),
        (None, None) => number.to_string(),
    }
}
