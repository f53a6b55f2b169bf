//! Values in Go's syntax (`%#v`), as go-yaml shows what cannot be a key.

use crate::node::{Node, Value};
use crate::read::options::Dialect;
use crate::read::resolve::{Resolved, decode};
use bumpwright_gostd::{format_float, quote};

/// A value as it is decoded by go-yaml v2.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Scalar(scalar) => match decode(scalar, Dialect::V2) {
            Ok(Resolved::Null) => "<nil>".to_owned(),
            Ok(Resolved::Bool(truth)) => truth.to_string(),
            Ok(Resolved::Int(number)) => number.to_string(),
            Ok(Resolved::Uint(number)) => format!("0x{number:x}"),
            Ok(Resolved::Float(number)) => format_float(number, b'g', None, 64),
            _ => quote(&scalar.text),
        },
        Value::Sequence(sequence) => {
            let items: Vec<String> = sequence.items.iter().map(inner).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Mapping(mapping) => {
            let pair = |entry: &crate::Entry| format!("{}:{}", quote(&entry.key.text), inner(&entry.value));
            let mut pairs: Vec<String> = mapping.entries.iter().map(pair).collect();
            pairs.sort();
            format!("map[interface {{}}]interface {{}}{{{}}}", pairs.join(", "))
        }
    }
}

/// A value in a list or a map.
fn inner(node: &Node) -> String {
    match go_syntax(&node.value) {
        nil if nil == "<nil>" => "interface {}(nil)".to_owned(),
        other => other,
    }
}
