//! JSON as SOPS writes it: tabs, Go's escapes and numbers, comments left out.

use crate::tree::{Branch, Key, Value};
use bumpwright_gostd::format_float;
use zeroize::Zeroizing;

/// A leaf without a form in JSON.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnsupportedValue {
    #[error("json: unsupported value: {0}")]
    Number(String),
    #[error("json: error calling MarshalJSON for type time.Time: Time.MarshalJSON: {0}")]
    Time(&'static str),
    /// Each enclosing object adds this prefix.
    #[error("Error encoding value : {0}")]
    Inside(Box<Self>),
}

type Written = Result<(), UnsupportedValue>;

/// Writes an object and a line break.
pub(crate) fn write(branch: &Branch, out: &mut Zeroizing<Vec<u8>>) -> Written {
    let mut writer = Writer { out, level: 0 };
    writer.object(branch)?;
    out.push(b'\n');
    Ok(())
}

struct Writer<'o> {
    out: &'o mut Zeroizing<Vec<u8>>,
    level: usize,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn line(&mut self) {
        self.out.push(b'\n');
        self.out.extend(std::iter::repeat_n(b'\t', self.level));
    }

    fn object(&mut self, branch: &Branch) -> Written {
        let named = branch.iter().filter_map(|entry| match &entry.key {
            Key::Name(name) => Some((name, &entry.value)),
            Key::Comment(_) | Key::Other(_) => None,
        });
        self.collection("{", "}", named, |writer, (name, value)| {
            writer.text(name);
            writer.put(": ");
            writer
                .value(value)
                .map_err(|error| UnsupportedValue::Inside(Box::new(error)))
        })
    }

    fn collection<T>(
        &mut self,
        open: &str,
        close: &str,
        items: impl Iterator<Item = T>,
        write: impl Fn(&mut Self, T) -> Written,
    ) -> Written {
        self.put(open);
        self.level += 1;
        let mut empty = true;
        for item in items {
            if !empty {
                self.put(",");
            }
            self.line();
            write(self, item)?;
            empty = false;
        }
        self.level -= 1;
        if !empty {
            self.line();
        }
        self.put(close);
        Ok(())
    }

    fn value(&mut self, value: &Value) -> Written {
        match value {
            Value::Null => self.put("null"),
            Value::Bool(boolean) => self.put(if *boolean { "true" } else { "false" }),
            Value::Int(number) => self.put(&number.to_string()),
            Value::Uint(number) => self.put(&number.to_string()),
            Value::Float(number) => return self.float(*number),
            Value::Time(time) => {
                let text = time.rfc_3339().map_err(UnsupportedValue::Time)?;
                self.text(&text);
            }
            Value::Text(text) => self.text(text),
            Value::Branch(branch) => return self.object(branch),
            Value::List(items) => {
                let items = items.iter().filter(|item| !matches!(item, Value::Comment(_)));
                return self.collection("[", "]", items, Self::value);
            }
            // Go's encoder sees a struct of two fields.
            Value::Comment(comment) => {
                let inline = if comment.inline { "true" } else { "false" };
                return self.collection("{", "}", 0..2, |writer, field| {
                    match field {
                        0 => {
                            writer.put("\"Value\": ");
                            writer.text(&comment.text);
                        }
                        _ => writer.put(&format!("\"Inline\": {inline}")),
                    }
                    Ok(())
                });
            }
        }
        Ok(())
    }

    fn float(&mut self, number: f64) -> Written {
        if !number.is_finite() {
            return Err(UnsupportedValue::Number(format_float(number, b'g', None, 64)));
        }
        self.put(&float_text(number));
        Ok(())
    }

    fn text(&mut self, bytes: &[u8]) {
        self.put("\"");
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|ch| self.character(ch));
            // Each invalid byte is U+FFFD, as an escape.
            chunk.invalid().iter().for_each(|_| self.put("\\ufffd"));
        }
        self.put("\"");
    }

    fn character(&mut self, ch: char) {
        match ch {
            '"' => self.put("\\\""),
            '\\' => self.put("\\\\"),
            '\n' => self.put("\\n"),
            '\r' => self.put("\\r"),
            '\t' => self.put("\\t"),
            '\x08' => self.put("\\b"),
            '\x0c' => self.put("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' => {
                self.put(&format!("\\u{:04x}", u32::from(ch)));
            }
            ch => self.put(ch.encode_utf8(&mut [0; 4])),
        }
    }
}

/// A number as Go's encoder writes it.
pub(crate) fn float_text(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return format_float(number, b'f', None, 64);
    }
    let text = format_float(number, b'e', None, 64);
    // e-09 becomes e-9.
    match text.split_once("e-0") {
        Some((mantissa, exponent)) => format!("{mantissa}e-{exponent}"),
        None => text,
    }
}
