//! JSON as Go's `json.MarshalIndent` writes it with two spaces.

use bumpwright_gostd::format_float;
use bumpwright_json::Float;
use bumpwright_text::Parts;
use serde_json::Value as Json;
use std::io::{self, Write};

pub(crate) fn text(value: &Json, out: &mut dyn Write) -> io::Result<()> {
    Writer::new(out).any(value)
}

pub(crate) struct Writer<'w> {
    out: &'w mut dyn Write,
    depth: usize,
    /// Whether the collection that was opened last is empty so far.
    is_empty: bool,
}

impl<'w> Writer<'w> {
    pub(crate) fn new(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            depth: 0,
            is_empty: true,
        }
    }

    /// For a value so many levels deep in a document.
    pub(crate) fn at(out: &'w mut dyn Write, depth: usize) -> Self {
        Self {
            depth,
            ..Self::new(out)
        }
    }

    pub(crate) fn open(&mut self, bracket: &str) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        self.out.write_all(bracket.as_bytes())
    }

    pub(crate) fn close(&mut self, bracket: &str) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        if !self.is_empty {
            self.line()?;
        }
        self.is_empty = false;
        self.out.write_all(bracket.as_bytes())
    }

    fn line(&mut self) -> io::Result<()> {
        const BLANKS: &str = "\n                                ";
        match BLANKS.get(..=2 * self.depth) {
            Some(line) => self.raw(line),
            None => write!(self.out, "\n{:indent$}", "", indent = 2 * self.depth),
        }
    }

    /// Begins an item of a list.
    pub(crate) fn item(&mut self) -> io::Result<()> {
        if !self.is_empty {
            self.out.write_all(b",")?;
        }
        self.is_empty = false;
        self.line()
    }

    /// Begins an entry of an object.
    pub(crate) fn key(&mut self, key: &str) -> io::Result<()> {
        self.item()?;
        self.text(key)?;
        self.out.write_all(b": ")
    }

    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// What was written before.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// A text with what HTML would take for its own escaped, as Go does.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(b"\"")?;
        if !text.bytes().any(may_be_escaped) {
            self.raw(text)?;
            return self.out.write_all(b"\"");
        }
        let mut written = 0;
        for (at, ch) in text.char_indices() {
            let escaped = match ch {
                '"' => "\\\"".to_owned(),
                '\\' => "\\\\".to_owned(),
                '\n' => "\\n".to_owned(),
                '\r' => "\\r".to_owned(),
                '\t' => "\\t".to_owned(),
                '\u{8}' => "\\b".to_owned(),
                '\u{c}' => "\\f".to_owned(),
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => format!("\\u{:04x}", u32::from(ch)),
                _ => continue,
            };
            self.raw(text.part(written..at))?;
            self.raw(&escaped)?;
            written = at + ch.len_utf8();
        }
        self.raw(text.part(written..))?;
        self.out.write_all(b"\"")
    }

    /// An entry with a text, which is left out when it is empty (`omitempty`).
    pub(crate) fn filled(&mut self, key: &str, text: &str) -> io::Result<()> {
        match text {
            "" => Ok(()),
            _ => {
                self.key(key)?;
                self.text(text)
            }
        }
    }

    /// An entry that is left out unless it is true.
    pub(crate) fn truth(&mut self, key: &str, is: bool) -> io::Result<()> {
        if is {
            self.key(key)?;
            self.raw("true")
        } else {
            Ok(())
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, texts: &[String]) -> io::Result<()> {
        self.open("[")?;
        for text in texts {
            self.item()?;
            self.text(text)?;
        }
        self.close("]")
    }

    /// An entry with a list of texts, which is left out when it is empty.
    pub(crate) fn filled_texts(&mut self, key: &str, texts: &[String]) -> io::Result<()> {
        if texts.is_empty() {
            return Ok(());
        }
        self.key(key)?;
        self.texts(texts)
    }

    /// An entry with a map of texts in the order of its keys, which is left out when it is empty.
    pub(crate) fn filled_pairs(&mut self, key: &str, pairs: &[(String, String)]) -> io::Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        let mut sorted: Vec<&(String, String)> = pairs.iter().collect();
        sorted.sort();
        self.key(key)?;
        self.open("{")?;
        for (key, value) in sorted {
            self.key(key)?;
            self.text(value)?;
        }
        self.close("}")
    }

    /// Any value; the keys of objects are sorted, and numbers are `float64`.
    pub(crate) fn any(&mut self, value: &Json) -> io::Result<()> {
        match value {
            Json::Null => self.raw("null"),
            Json::Bool(is) => self.raw(if *is { "true" } else { "false" }),
            Json::Number(number) => self.raw(&go_number(number.float64())),
            Json::String(text) => self.text(text),
            Json::Array(items) => {
                self.open("[")?;
                for item in items {
                    self.item()?;
                    self.any(item)?;
                }
                self.close("]")
            }
            Json::Object(map) => {
                let mut sorted: Vec<_> = map.iter().collect();
                sorted.sort_by_key(|(key, _)| *key);
                self.open("{")?;
                for (key, value) in sorted {
                    self.key(key)?;
                    self.any(value)?;
                }
                self.close("}")
            }
        }
    }
}

/// Whether a character that begins with this byte may have to be escaped.
fn may_be_escaped(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | 0..=0x1f | 0xe2)
}

/// As encoding/json: with an exponent only where it is very small or large, and `e-09` without its zero.
fn go_number(number: f64) -> String {
    let size = number.abs();
    let is_extreme = size != 0.0 && !(1e-6..1e21).contains(&size);
    let text = format_float(number, if is_extreme { b'e' } else { b'f' }, None, 64);
    text.replace("e-0", "e-")
}
