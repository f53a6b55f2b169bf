//! Parses JSON as Go's encoding/json does, and nothing else: YAML in brackets is not JSON.

use super::PatchError;
use bumpwright_yaml::{Dialect, Entry, FileId, Mapping, Node, Place, Scalar, Sequence, Style, Tag, Value, plain_tag};
use std::borrow::Cow;
use std::cell::Cell;

/// Maximum nesting of lists and objects, which bounds the recursion.
const MAX_DEPTH: usize = 1000;

/// Parses exactly one value. The last of duplicate keys counts.
pub(super) fn parse(text: &[u8], file: FileId) -> Result<Node, PatchError> {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader {
        text: &text,
        at: 0,
        line: 1,
        counted: Cell::new((0, 1)),
        file,
    };
    let value = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.fault("unexpected text after the list")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    /// A position in the current line and its column: long lines are not counted again for each place.
    counted: Cell<(usize, u32)>,
    file: FileId,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn place(&self) -> Place {
        let (counted, column) = self.counted.get();
        let passed = self.text.get(counted..self.at).unwrap_or("");
        let passed = u32::try_from(passed.chars().count()).unwrap_or(u32::MAX);
        let column = column.saturating_add(passed);
        self.counted.set((self.at, column));
        Place {
            file: self.file,
            line: self.line,
            column,
        }
    }

    fn fault(&self, problem: &'static str) -> PatchError {
        PatchError::Json {
            place: self.place(),
            problem,
        }
    }

    fn space(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.peek() {
            self.at += 1;
            if byte == b'\n' {
                self.line += 1;
                self.counted.set((self.at, 1));
            }
        }
    }

    /// Skips `byte`, if it is next.
    fn skip(&mut self, byte: u8) -> bool {
        self.space();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Node, PatchError> {
        self.space();
        let place = self.place();
        if depth > MAX_DEPTH {
            return Err(self.fault("nested too deeply"));
        }
        let value = match self.peek() {
            Some(b'[') => self.list(depth)?,
            Some(b'{') => self.object(depth)?,
            Some(b'"') => scalar(&self.string()?, Tag::Str, Style::Double),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node::new(value).at(place))
    }

    fn list(&mut self, depth: usize) -> Result<Value, PatchError> {
        self.at += 1;
        let mut items = Vec::new();
        if !self.skip(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                if self.skip(b']') {
                    break;
                }
                if !self.skip(b',') {
                    return Err(self.fault("expected , or ] after an element"));
                }
            }
        }
        Ok(Value::Sequence(Sequence {
            items,
            ..Sequence::default()
        }))
    }

    fn object(&mut self, depth: usize) -> Result<Value, PatchError> {
        self.at += 1;
        let mut mapping = Mapping::default();
        if !self.skip(b'}') {
            loop {
                self.member(&mut mapping, depth)?;
                if self.skip(b'}') {
                    break;
                }
                if !self.skip(b',') {
                    return Err(self.fault("expected , or } after a value"));
                }
            }
        }
        Ok(Value::Mapping(mapping))
    }

    fn member(&mut self, mapping: &mut Mapping, depth: usize) -> Result<(), PatchError> {
        self.space();
        let place = self.place();
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected a key in double quotes"));
        }
        let key = self.string()?;
        if !self.skip(b':') {
            return Err(self.fault("expected : after a key"));
        }
        let value = self.value(depth + 1)?;
        match mapping.get_mut(&key) {
            Some(old) => *old = value,
            None => mapping.entries.push(Entry {
                key: Scalar::string(&*key),
                place,
                value,
            }),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, PatchError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or("");
        if !is_number(text) {
            return Err(self.fault("malformed number"));
        }
        let tag = plain_tag(text, Dialect::V3);
        // YAML reads a text where the exponent is too great.
        if tag == Tag::Str {
            return Err(self.fault("the number is greater than a float64"));
        }
        self.at += text.len();
        Ok(scalar(text, tag, Style::Plain))
    }

    fn word(&mut self) -> Result<Value, PatchError> {
        for (word, tag) in [("true", Tag::Bool), ("false", Tag::Bool), ("null", Tag::Null)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(scalar(word, tag, Style::Plain));
            }
        }
        Err(self.fault("expected a JSON value"))
    }

    fn string(&mut self) -> Result<Cow<'t, str>, PatchError> {
        self.at += 1;
        let rest = self.rest();
        let end = rest
            .find(|c: char| c == '"' || c == '\\' || c < ' ')
            .unwrap_or(rest.len());
        let plain = rest.get(..end).unwrap_or("");
        self.at += end;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            let Some(next) = self.rest().chars().next() else {
                return Err(self.fault("unterminated string"));
            };
            match next {
                '"' => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                '\\' => text.push(self.escape()?),
                '\0'..='\x1f' => return Err(self.fault("a control character in a string")),
                _ => {
                    text.push(next);
                    self.at += next.len_utf8();
                }
            }
        }
    }

    /// The character of an escape; U+FFFD for half of a surrogate pair.
    fn escape(&mut self) -> Result<char, PatchError> {
        let sign = self.text.as_bytes().get(self.at + 1).copied();
        let plain = match sign {
            Some(b'u') => return self.escaped_unit(),
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\x08',
            Some(b'f') => '\x0c',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.fault("invalid escape in a string")),
        };
        self.at += 2;
        Ok(plain)
    }

    fn escaped_unit(&mut self) -> Result<char, PatchError> {
        let Some(first) = unit(self.rest()) else {
            return Err(self.fault("expected four hexadecimal digits after \\u"));
        };
        self.at += 6;
        if let Some(second) = unit(self.rest()) {
            let pair = char::decode_utf16([first, second]).next().and_then(Result::ok);
            if let Some(character) = pair.filter(|character| u32::from(*character) > 0xFFFF) {
                self.at += 6;
                return Ok(character);
            }
        }
        Ok(char::from_u32(u32::from(first)).unwrap_or('\u{FFFD}'))
    }
}

/// The UTF-16 unit of a leading `\uXXXX`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let are_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    are_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?`
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let exponent = exponent.map(|exponent| exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

fn scalar(text: &str, tag: Tag, style: Style) -> Value {
    Value::Scalar(Scalar {
        text: text.into(),
        tag,
        style,
    })
}
