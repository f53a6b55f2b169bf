//! A leaf that is not a string, as flat formats print it.

use crate::tree::{Key, Text, Value};
use bumpwright_gostd::{RFC_3339, format_float};
use zeroize::Zeroizing;

/// SOPS' `ValToString`.
pub(crate) fn shown(value: &Value) -> Text {
    Zeroizing::new(match value {
        Value::Text(text) => return text.clone(),
        Value::Null => b"<nil>".to_vec(),
        Value::Bool(boolean) => boolean.to_string().into_bytes(),
        Value::Int(number) => number.to_string().into_bytes(),
        Value::Uint(number) => number.to_string().into_bytes(),
        Value::Float(number) => float(*number).into_bytes(),
        Value::Time(time) => time.format(RFC_3339),
        // Go prints the fields of a comment.
        Value::Comment(comment) => {
            let inline: &[u8] = if comment.inline { b" true}" } else { b" false}" };
            [b"{", comment.text.as_slice(), inline].concat()
        }
        Value::List(_) | Value::Branch(_) => {
            let mut out = Zeroizing::new(Vec::new());
            formatted(value, &mut out);
            return out;
        }
    })
}

/// A collection as Go's `%v` prints it.
fn formatted(value: &Value, out: &mut Text) {
    match value {
        Value::List(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b" " } else { b"" });
                formatted(item, out);
            }
            out.push(b']');
        }
        Value::Branch(branch) => {
            out.push(b'[');
            for (at, entry) in branch.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b" {" } else { b"{" });
                match &entry.key {
                    Key::Name(name) => out.extend_from_slice(name),
                    Key::Comment(comment) => {
                        let inline: &[u8] = if comment.inline { b" true}" } else { b" false}" };
                        out.extend_from_slice(&[b"{", comment.text.as_slice(), inline].concat());
                    }
                    Key::Other(other) => formatted(other, out),
                }
                out.push(b' ');
                formatted(&entry.value, out);
                out.push(b'}');
            }
            out.push(b']');
        }
        Value::Float(number) => {
            let size = number.abs();
            let plain = size == 0.0 || (1e-4..1e21).contains(&size);
            let format = if plain { b'f' } else { b'e' };
            out.extend_from_slice(format_float(*number, format, None, 64).as_bytes());
        }
        Value::Time(time) => out.extend_from_slice(&time.text()),
        leaf => out.extend_from_slice(&shown(leaf)),
    }
}

/// A float that cannot be mistaken for an integer.
fn float(number: f64) -> String {
    let text = format_float(number, b'G', None, 64);
    if text.contains(['.', 'E']) {
        text
    } else {
        format_float(number, b'f', Some(1), 64)
    }
}
