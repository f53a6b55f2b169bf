//! Go's `json.Unmarshal` into an `interface {}`.
//!
//! Nesting is kept on a heap-allocated stack: ten thousand levels are allowed.

use bumpwright_gostd::{append_char, first_rune, parse_float, quote};
use bumpwright_template::{ENTRY_BYTES, Failure, Host, LIST_BYTES, Map, STRING_BYTES, Text, Value};
use bumpwright_text::Parts;

/// Go's maximum depth.
const MAX_DEPTH: usize = 10_000;

/// The value of a document, and its error. A number that no float can hold is an error but leaves the rest in place.
///
/// # Errors
/// A limit of the host was reached.
pub fn decode(host: &mut Host<'_>, text: &[u8]) -> Result<(Value, Option<String>), Failure> {
    host.produce(text.len())?;
    let mut parser = Parser {
        rest: text,
        open: Vec::new(),
        fault: None,
    };
    match parser.document(host) {
        Ok(value) => Ok((value, parser.fault)),
        Err(DecodeError::Syntax(fault)) => Ok((Value::Nil, Some(fault))),
        Err(DecodeError::Host(failure)) => Err(failure),
    }
}

enum DecodeError {
    Syntax(String),
    Host(Failure),
}

impl From<Failure> for DecodeError {
    fn from(failure: Failure) -> Self {
        Self::Host(failure)
    }
}

struct Parser<'t> {
    rest: &'t [u8],
    open: Vec<OpenContainer>,
    fault: Option<String>,
}

/// An array or object that has not ended yet.
enum OpenContainer {
    Array(Vec<Value>),
    /// The entries so far, and the key of the next one.
    Object(Vec<(Text, Value)>, Text),
}

/// The start of a value.
enum ValueStart {
    Value(Value),
    Container(OpenContainer),
}

impl Parser<'_> {
    fn document(&mut self, host: &mut Host<'_>) -> Result<Value, DecodeError> {
        loop {
            host.step(1)?;
            host.produce(self.place())?;
            let mut value = match self.begin()? {
                ValueStart::Value(value) => {
                    if matches!(value, Value::String(_)) {
                        host.produce(STRING_BYTES)?;
                    }
                    value
                }
                ValueStart::Container(open) => {
                    host.produce(match open {
                        OpenContainer::Array(_) => LIST_BYTES,
                        OpenContainer::Object(..) => Map::bytes(1),
                    })?;
                    self.open.push(open);
                    continue;
                }
            };
            loop {
                match self.end(value)? {
                    AfterValue::Document(value) => return Ok(value),
                    AfterValue::Container(container) => value = container,
                    AfterValue::Item => break,
                }
            }
        }
    }

    /// The size of the place of the next value, and of its key in an object.
    fn place(&self) -> usize {
        match self.open.last() {
            Some(OpenContainer::Object(..)) => ENTRY_BYTES + STRING_BYTES,
            _ => size_of::<Value>(),
        }
    }

    /// Reads a value, or the start of one that contains others.
    fn begin(&mut self) -> Result<ValueStart, DecodeError> {
        const CONTEXT: &str = "looking for beginning of value";
        self.skip_space();
        let Some(byte) = self.rest.first() else {
            return Err(self.end_of_input());
        };
        if matches!(byte, b'[' | b'{') && self.open.len() >= MAX_DEPTH {
            return Err(self.unexpected("exceeded max depth"));
        }
        Ok(ValueStart::Value(match byte {
            b'[' => {
                self.advance();
                self.skip_space();
                if self.take(b']') {
                    Value::list(Vec::new())
                } else {
                    return Ok(ValueStart::Container(OpenContainer::Array(Vec::new())));
                }
            }
            b'{' => {
                self.advance();
                self.skip_space();
                if self.take(b'}') {
                    Value::dict::<Text>([])
                } else {
                    let key = self.key()?;
                    return Ok(ValueStart::Container(OpenContainer::Object(Vec::new(), key)));
                }
            }
            b'"' => Value::text(self.string()?),
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.literal("true", Value::Bool(true))?,
            b'f' => self.literal("false", Value::Bool(false))?,
            b'n' => self.literal("null", Value::Nil)?,
            _ => return Err(self.unexpected(CONTEXT)),
        }))
    }

    /// Adds a value to its container, and reads what follows it.
    fn end(&mut self, value: Value) -> Result<AfterValue, DecodeError> {
        self.skip_space();
        let Some(mut open) = self.open.pop() else {
            return match self.rest {
                [] => Ok(AfterValue::Document(value)),
                _ => Err(self.unexpected("after top-level value")),
            };
        };
        if self.rest.is_empty() {
            return Err(self.end_of_input());
        }
        match &mut open {
            OpenContainer::Array(items) => {
                items.push(value);
                if self.take(b']') {
                    return Ok(AfterValue::Container(Value::list(std::mem::take(items))));
                }
                if !self.take(b',') {
                    return Err(self.unexpected("after array element"));
                }
            }
            OpenContainer::Object(entries, key) => {
                entries.push((key.clone(), value));
                if self.take(b'}') {
                    return Ok(AfterValue::Container(Value::dict(std::mem::take(entries))));
                }
                if !self.take(b',') {
                    return Err(self.unexpected("after object key:value pair"));
                }
                *key = self.key()?;
            }
        }
        self.open.push(open);
        Ok(AfterValue::Item)
    }

    /// A key and the colon after it.
    fn key(&mut self) -> Result<Text, DecodeError> {
        self.skip_space();
        match self.rest.first() {
            None => return Err(self.end_of_input()),
            Some(b'"') => {}
            Some(_) => return Err(self.unexpected("looking for beginning of object key string")),
        }
        let key = self.string()?;
        self.skip_space();
        if self.take(b':') {
            Ok(key.into())
        } else if self.rest.is_empty() {
            Err(self.end_of_input())
        } else {
            Err(self.unexpected("after object key"))
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, DecodeError> {
        for letter in word.bytes() {
            if !self.take(letter) {
                let letter = char::from(letter);
                return Err(self.unexpected(&format!("in literal {word} (expecting '{letter}')")));
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, DecodeError> {
        let text = self.rest;
        self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err(self.unexpected("in numeric literal"));
        }
        if self.take(b'.') && self.digits() == 0 {
            return Err(self.unexpected("after decimal point in numeric literal"));
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return Err(self.unexpected("in exponent of numeric literal"));
            }
        }
        let text = text.get(..text.len() - self.rest.len()).unwrap_or(text);
        match parse_float(text, 64) {
            Ok(number) => Ok(Value::float(number)),
            Err(_) => {
                let text = String::from_utf8_lossy(text);
                let fault = format!("json: cannot unmarshal number {text} into Go value of type float64");
                self.fault.get_or_insert(fault);
                Ok(Value::Nil)
            }
        }
    }

    fn digits(&mut self) -> usize {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.rest = self.rest.tail(count);
        count
    }

    /// A string, at its first quote.
    fn string(&mut self) -> Result<Vec<u8>, DecodeError> {
        self.advance();
        let mut out = Vec::new();
        loop {
            match self.rest {
                [] => return Err(self.end_of_input()),
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Ok(out);
                }
                [b'\\', rest @ ..] => {
                    self.rest = rest;
                    self.escape(&mut out)?;
                }
                [0..b' ', ..] => return Err(self.unexpected("in string literal")),
                [byte, rest @ ..] if byte.is_ascii() => {
                    out.push(*byte);
                    self.rest = rest;
                }
                rest => {
                    let (ch, length) = first_rune(rest).unwrap_or(('\u{fffd}', 1));
                    append_char(&mut out, ch);
                    self.rest = rest.tail(length);
                }
            }
        }
    }

    /// The escape after a backslash.
    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        let byte = match self.rest.first() {
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
            Some(b'u') => {
                self.advance();
                let ch = self.code()?;
                append_char(out, ch);
                return Ok(());
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        out.push(byte);
        self.advance();
        Ok(())
    }

    /// Four hexadecimal digits; for a surrogate pair also the second half. Half a pair is a replacement character.
    fn code(&mut self) -> Result<char, DecodeError> {
        let high = self.four_digits()?;
        if let Some(ch) = char::from_u32(high) {
            return Ok(ch);
        }
        if let [b'\\', b'u', rest @ ..] = self.rest
            && (0xd800..0xdc00).contains(&high)
            && let Some(low @ 0xdc00..0xe000) = rest.get(..4).and_then(hexadecimal)
        {
            self.rest = rest.tail(4);
            let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
        }
        Ok('\u{fffd}')
    }

    fn four_digits(&mut self) -> Result<u32, DecodeError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.rest.first().and_then(|byte| char::from(*byte).to_digit(16));
            let digit = digit.ok_or_else(|| self.unexpected("in \\u hexadecimal character escape"))?;
            code = code << 4 | digit;
            self.advance();
        }
        Ok(code)
    }

    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn advance(&mut self) {
        self.rest = self.rest.tail(1);
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.rest.first() == Some(&byte);
        if is_next {
            self.advance();
        }
        is_next
    }

    fn end_of_input(&self) -> DecodeError {
        DecodeError::Syntax("unexpected end of JSON input".to_owned())
    }

    /// Go signals the end of the input to the scanner by a space, and some of its errors show that.
    fn unexpected(&self, context: &str) -> DecodeError {
        let byte = char::from(self.rest.first().copied().unwrap_or(b' '));
        let shown = match byte {
            '\'' => "\\'".to_owned(),
            '"' => "\"".to_owned(),
            byte => quote(&byte.to_string()).trim_matches('"').to_owned(),
        };
        DecodeError::Syntax(format!("invalid character '{shown}' {context}"))
    }
}

/// The token after a value.
enum AfterValue {
    /// The end of the text.
    Document(Value),
    /// The end of the array or object that it is in.
    Container(Value),
    Item,
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let mut code = 0;
    for digit in digits {
        code = code << 4 | char::from(*digit).to_digit(16)?;
    }
    Some(code)
}
