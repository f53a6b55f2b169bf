//! A leaf as flat formats show it, where it is no text.

use super::tree::{Text, Value};
use bumpwright_gostd::format_float;
use zeroize::Zeroizing;

/// SOPS' `ValToString`.
pub(crate) fn shown(value: &Value) -> Text {
    Zeroizing::new(match value {
        Value::Text(text) => return text.clone(),
        Value::Null => b"<nil>".to_vec(),
        Value::Bool(truth) => truth.to_string().into_bytes(),
        Value::Int(number) => number.to_string().into_bytes(),
        Value::Uint(number) => number.to_string().into_bytes(),
        Value::Float(number) => float(*number).into_bytes(),
        Value::Time(time) => time.format(b"2006-01-02T15:04:05Z07:00"),
        // Go prints the parts of a comment.
        Value::Comment(comment) => {
            let inline: &[u8] = if comment.inline { b" true}" } else { b" false}" };
            [b"{", comment.text.as_slice(), inline].concat()
        }
        // Whoever calls refuses collections.
        Value::List(_) | Value::Branch(_) => Vec::new(),
    })
}

/// A float that cannot be taken for an integer.
fn float(number: f64) -> String {
    let text = format_float(number, b'G', None, 64);
    match text.contains(['.', 'E']) {
        true => text,
        false => format_float(number, b'f', Some(1), 64),
    }
}
