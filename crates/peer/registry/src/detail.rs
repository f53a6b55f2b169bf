//! JSON as printed by Go's `fmt` with `%v`, for the details of a registry's errors.

use std::fmt::Write;

use serde_json::{Number, Value};

use bumpwright_gostd::format_float;

/// Prints `map[Class: Name:app Type:repository]`, `[a b]`, `1e+06`, `<nil>`.
pub(super) fn printed(value: &Value) -> String {
    let mut out = String::new();
    print(&mut out, value);
    out
}

fn print(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&float(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(' ');
                }
                print(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            out.push_str("map[");
            for (place, (name, value)) in fields.into_iter().enumerate() {
                let space = if place > 0 { " " } else { "" };
                // Writing into a string cannot fail.
                let _ = write!(out, "{space}{name}:");
                print(out, value);
            }
            out.push(']');
        }
    }
}

/// Go reads every number of JSON as a float64.
fn float(number: &Number) -> String {
    number
        .as_f64()
        .map_or_else(|| number.to_string(), |float| format_float(float, b'g', None, 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_go_prints_it() {
        let value = serde_json::json!({
            "name": "app", "b": [1, "x", null, {}], "a": {"n": 1_000_000, "m": 21, "f": 0.5, "t": true}, "z": null
        });
        assert_eq!(
            printed(&value),
            "map[a:map[f:0.5 m:21 n:1e+06 t:true] b:[1 x <nil> map[]] name:app z:<nil>]"
        );
    }
}
