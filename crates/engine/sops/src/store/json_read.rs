//! Parses JSON as SOPS does: entries in their order, duplicate names kept, numbers as integers where possible.

use crate::tree::{Branch, Entry, MAX_DEPTH, Value};
use bumpwright_gostd::{atoi, parse_float};
use bumpwright_text::Parts;
use zeroize::Zeroizing;

/// Why a text is not JSON with an object at its top; the error contains no values.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("EOF")]
    Empty,
    #[error("unexpected EOF")]
    End,
    #[error("invalid character {0} {1}")]
    Character(String, &'static str),
    #[error(
        "SOPS only supports JSON files with a top-level object (starting with '{{'), not arrays or other types. Got \
         delimiter [ instead. To encrypt this file, wrap it in an object, e.g., {{\"data\": [...]}}"
    )]
    List,
    #[error("SOPS only supports JSON files with a top-level object (starting with '{{'), not other JSON types")]
    Scalar,
    #[error("a number is out of range")]
    Number,
    #[error("exceeded max depth")]
    Deep,
}

/// Parses the object at the start of a text; the rest is ignored, as with SOPS.
pub(crate) fn read(bytes: &[u8]) -> Result<Branch, JsonError> {
    let mut reader = Reader { bytes, at: 0, depth: 0 };
    match reader.peek() {
        None => Err(JsonError::Empty),
        Some(b'{') => reader.object(),
        Some(b'[') => Err(JsonError::List),
        Some(_) => {
            reader.value()?;
            Err(JsonError::Scalar)
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    /// The next byte that is not white space, without consuming it.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn unexpected<T>(&self, where_to: &'static str) -> Result<T, JsonError> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return Err(JsonError::End);
        };
        let shown = match byte {
            b'\'' => r"'\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            byte => format!("'{}'", char::from(byte).escape_default()),
        };
        Err(JsonError::Character(shown, where_to))
    }

    fn open(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err(JsonError::Deep)
        } else {
            Ok(())
        }
    }

    fn close(&mut self) {
        self.at += 1;
        self.depth -= 1;
    }

    fn object(&mut self) -> Result<Branch, JsonError> {
        self.open()?;
        let mut branch = Branch::new();
        if self.peek() == Some(b'}') {
            self.close();
            return Ok(branch);
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.unexpected("looking for beginning of object key string");
            }
            let name = self.text()?;
            if self.peek() != Some(b':') {
                return self.unexpected("after object key");
            }
            self.at += 1;
            branch.push(Entry::new(&**name, self.value()?));
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.close();
                    return Ok(branch);
                }
                _ => return self.unexpected("after object key:value pair"),
            }
        }
    }

    fn list(&mut self) -> Result<Vec<Value>, JsonError> {
        self.open()?;
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.close();
            return Ok(items);
        }
        loop {
            items.push(self.value()?);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.close();
                    return Ok(items);
                }
                _ => return self.unexpected("after array element"),
            }
        }
    }

    fn value(&mut self) -> Result<Value, JsonError> {
        match self.peek() {
            Some(b'{') => Ok(Value::Branch(self.object()?)),
            Some(b'[') => Ok(Value::List(self.list()?)),
            Some(b'"') => Ok(Value::Text(self.text()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.unexpected("looking for beginning of value"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        for byte in word.bytes() {
            if self.bytes.get(self.at) != Some(&byte) {
                return self.unexpected("in a literal");
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            return self.unexpected("in numeric literal");
        }
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let from = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = self.bytes.part(from..self.at);
        match atoi(text) {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => parse_float(text, 64).map(Value::Float).map_err(|_| JsonError::Number),
        }
    }

    fn text(&mut self) -> Result<Zeroizing<Vec<u8>>, JsonError> {
        self.at += 1;
        let rest = self.bytes.part(self.at..);
        let guess = rest.iter().position(|byte| *byte == b'"').unwrap_or_default();
        let mut raw = Zeroizing::new(Vec::with_capacity(guess));
        loop {
            match self.bytes.get(self.at) {
                None => return Err(JsonError::End),
                Some(b'"') => break,
                Some(0..0x20) => return self.unexpected("in string literal"),
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(&mut raw)?;
                }
                Some(byte) => {
                    raw.push(*byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        // Go writes U+FFFD for each invalid byte.
        match std::str::from_utf8(&raw) {
            Ok(_) => Ok(raw),
            Err(_) => Ok(Zeroizing::new(bumpwright_gostd::lossy(&raw).as_bytes().to_vec())),
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        let byte = match self.bytes.get(self.at) {
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(out),
            _ => return self.unexpected("in string escape code"),
        };
        out.push(byte);
        self.at += 1;
        Ok(())
    }

    fn unicode_escape(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        let first = self.code_unit()?;
        let mut ch = char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER);
        let is_high = (0xD800..0xDC00).contains(&first);
        let is_escape = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(br"\u"));
        if is_high && is_escape {
            let before = self.at;
            self.at += 1;
            let second = self.code_unit()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                ch = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            } else {
                self.at = before
            }
        }
        out.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// Four digits after a `u`.
    fn code_unit(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            self.at += 1;
            let digit = self.bytes.get(self.at).and_then(|byte| char::from(*byte).to_digit(16));
            let Some(digit) = digit else {
                return self.unexpected("in \\u hexadecimal character escape");
            };
            code = code << 4 | digit;
        }
        self.at += 1;
        Ok(code)
    }
}
