//! Whether a value has the shape of its type, and the fault if it has not.

use bumpwright_gostd::{Base64, RFC_3339, Time, decode_base64};
use serde_json::Value;

use super::quantity;
use super::shape::Shape;
use super::words::type_of;

/// Six digits after the second, as `metav1.MicroTime` reads them.
const RFC_3339_MICRO: &[u8] = b"2006-01-02T15:04:05.000000Z07:00";
/// Whole numbers up to here are the same as floating-point numbers.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The fault of a value that is neither list nor object; none if it has the shape. Lists and objects are faults here.
pub(crate) fn fault(value: &Value, shape: &Shape) -> Option<String> {
    match (shape, value) {
        (Shape::Any, _)
        | (Shape::String | Shape::IntOrString(_), Value::String(_))
        | (Shape::Number | Shape::Quantity, Value::Number(_))
        | (Shape::Boolean, Value::Bool(_)) => None,
        (Shape::Integer(bits), Value::Number(_)) => integer_fault(value, *bits),
        (Shape::IntOrString(bits), Value::Number(_)) => {
            integer_fault(value, *bits).map(|_| "must be of type integer or string".to_owned())
        }
        (Shape::Quantity, Value::String(text)) => quantity::fault(text).map(str::to_owned),
        (Shape::Time { micro }, Value::String(text)) => {
            let layout = if *micro { RFC_3339_MICRO } else { RFC_3339 };
            Time::parse(layout, text.as_bytes())
                .err()
                .map(|error| error.to_string())
        }
        (Shape::Bytes, Value::String(text)) => {
            let mut bytes = Vec::new();
            let decoded = decode_base64(text.as_bytes(), Base64::Standard, &mut bytes);
            decoded.err().map(|error| error.to_string())
        }
        (shape, value) => Some(format!("must be of type {}{}", name(shape), hint(shape, value))),
    }
}

fn integer_fault(value: &Value, bits: u32) -> Option<String> {
    let number = whole(value);
    match number {
        None => Some("must be of type integer".to_owned()),
        Some(number) if bits == 32 && i32::try_from(number).is_err() => Some("must be of type int32".to_owned()),
        Some(_) => None,
    }
}

/// A whole number, also where it is written as `1.0`.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|_| number.is_f64())?;
        let is_whole = float.fract() == 0.0 && float.abs() <= MOST_EXACT;
        is_whole.then_some(float as i64)
    })
}

pub(crate) fn name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Any => "anything",
        Shape::String | Shape::Time { .. } | Shape::Bytes => "string",
        Shape::Integer(_) => "integer",
        Shape::Number => "number",
        Shape::Boolean => "boolean",
        Shape::IntOrString(_) => "integer or string",
        Shape::Quantity => "string or number",
        Shape::List(_) => "array",
        Shape::Map(_) | Shape::Object(_) | Shape::ObjectMeta => "object",
    }
}

/// The usual mistake in YAML.
fn hint(shape: &Shape, value: &Value) -> &'static str {
    match (shape, value) {
        (Shape::String, Value::Bool(_) | Value::Number(_)) => ": put it in quotes",
        (Shape::Integer(_) | Shape::Number, Value::String(text)) if text.parse::<f64>().is_ok() => ": without quotes",
        (Shape::Boolean, Value::String(text)) if matches!(text.as_str(), "true" | "false") => ": without quotes",
        _ => "",
    }
}

/// The fault of a value that should be a list or an object.
pub(crate) fn not_a(shape: &Shape, value: &Value) -> String {
    format!("Invalid value: \"{}\": must be of type {}", type_of(value), name(shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_are_read_as_the_server_reads_them() {
        let time = Shape::Time { micro: false };
        let micro = Shape::Time { micro: true };
        for (shape, value, wanted) in [
            (&Shape::String, json!("x"), ""),
            (&Shape::String, json!(1), "must be of type string: put it in quotes"),
            (&Shape::Integer(32), json!(1), ""),
            (&Shape::Integer(32), json!(1.0), ""),
            (&Shape::Integer(32), json!(1.5), "must be of type integer"),
            (&Shape::Integer(32), json!(3_000_000_000_u64), "must be of type int32"),
            (&Shape::Integer(64), json!(3_000_000_000_u64), ""),
            (&Shape::Integer(64), json!(u64::MAX), "must be of type integer"),
            (
                &Shape::Integer(64),
                json!("1"),
                "must be of type integer: without quotes",
            ),
            (&Shape::Integer(64), json!("x"), "must be of type integer"),
            (
                &Shape::Boolean,
                json!("true"),
                "must be of type boolean: without quotes",
            ),
            (&Shape::Boolean, json!("yes"), "must be of type boolean"),
            (&Shape::IntOrString(32), json!(80), ""),
            (&Shape::IntOrString(32), json!("http"), ""),
            (&Shape::IntOrString(32), json!(1.5), "must be of type integer or string"),
            (
                &Shape::IntOrString(32),
                json!(true),
                "must be of type integer or string",
            ),
            (&Shape::Quantity, json!(0.5), ""),
            (&Shape::Quantity, json!("1Gi"), ""),
            (&Shape::Quantity, json!("1K"), "unable to parse quantity's suffix"),
            (&Shape::Quantity, json!(true), "must be of type string or number"),
            (&Shape::Bytes, json!("eA=="), ""),
            (&Shape::Bytes, json!("eA"), "illegal base64 data at input byte 0"),
            (&time, json!("2024-01-01T00:00:00Z"), ""),
            (&micro, json!("2024-01-01T00:00:00.000001Z"), ""),
            (&time, json!(5), "must be of type string"),
            (&Shape::Any, json!([1]), ""),
        ] {
            assert_eq!(fault(&value, shape).unwrap_or_default(), wanted, "{shape:?} {value}");
        }
        let message = fault(&json!("x"), &time).unwrap_or_default();
        assert!(
            message.starts_with(r#"parsing time "x" as "2006-01-02T15:04:05Z07:00""#),
            "{message}"
        );
        assert!(fault(&json!("2024-01-01T00:00:00Z"), &micro).is_some());
    }
}
