//! Truth of values, as in `if`, `and`, `not` and Sprig's defaults.

use super::model::Value;

/// Go's `IsTrue`: whether a value is not the zero of its type; structs always are.
pub fn truth(value: &Value) -> bool {
    match value {
        Value::Nil => false,
        Value::Bool(truth) => *truth,
        Value::Int(_, number) => *number != 0,
        Value::Uint(_, number) => *number != 0,
        Value::Float(_, number) => *number != 0.0,
        Value::Complex(_, real, imaginary) => *real != 0.0 || *imaginary != 0.0,
        Value::String(text) => !text.is_empty(),
        Value::Slice(slice) => !slice.items().is_empty(),
        Value::Array(array) => !array.items().is_empty(),
        Value::Map(map) => !map.is_empty(),
        Value::Struct(_) => true,
        Value::Pointer(pointer) => pointer.target.is_some(),
        Value::Named(_, inner) => truth(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{INT, Pointer, STRING, Slice};

    #[test]
    fn only_zero_values_are_false() {
        for (value, expected) in [
            (Value::Nil, false),
            (Value::int(0), false),
            (Value::int(-1), true),
            (Value::float(-0.0), false),
            (Value::float(f64::NAN), true),
            (Value::text(""), false),
            (Value::text("false"), true),
            (Value::Slice(Slice::nil(&STRING)), false),
            (Value::list(vec![Value::Nil]), true),
            (Value::Pointer(Pointer { to: &INT, target: None }), false),
            (Value::Pointer(Pointer::new(&INT, Value::int(0))), true),
        ] {
            assert_eq!(truth(&value), expected, "{value:?}");
        }
    }
}
