//! Parses escapes and bracketed classes.

use super::{
    class::Class,
    error::{Error, ErrorCode},
    parse::Parser,
    rune::{self, decode_strict},
    unicode,
};
use bumpwright_text::Parts;
use std::sync::Arc;

/// Go's `\d`, `\s`, `\w` and POSIX' classes: all of them ASCII.
const GROUPS: &[(&str, &[(u8, u8)])] = &[
    ("d", &[(b'0', b'9')]),
    ("s", &[(b'\t', b'\n'), (0x0C, b'\r'), (b' ', b' ')]),
    ("w", &[(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')]),
    ("alnum", &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')]),
    ("alpha", &[(b'A', b'Z'), (b'a', b'z')]),
    ("ascii", &[(0, 0x7F)]),
    ("blank", &[(b'\t', b'\t'), (b' ', b' ')]),
    ("cntrl", &[(0, 0x1F), (0x7F, 0x7F)]),
    ("digit", &[(b'0', b'9')]),
    ("graph", &[(b'!', b'~')]),
    ("lower", &[(b'a', b'z')]),
    ("print", &[(b' ', b'~')]),
    ("punct", &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')]),
    ("space", &[(b'\t', b'\r'), (b' ', b' ')]),
    ("upper", &[(b'A', b'Z')]),
    ("word", &[(b'0', b'9'), (b'A', b'Z'), (b'_', b'_'), (b'a', b'z')]),
    ("xdigit", &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')]),
];

impl Parser<'_> {
    /// Parses the bracketed class that begins here.
    pub(super) fn bracket_class(&mut self) -> Result<Class, Error> {
        let start = self.at;
        self.at += 1;
        let negated = self.eat(b"^");
        let mut ranges = Vec::new();
        let mut written = Vec::new();
        let mut first = true;
        while first || !self.rest().starts_with(b"]") {
            first = false;
            let group = match self.posix_class()? {
                Some(class) => Some(class),
                None => self.escaped_class()?,
            };
            match group {
                Some(class) => ranges.extend_from_slice(class.ranges()),
                None => written.push(self.class_range(start)?),
            }
        }
        self.at += 1;
        if self.flags.fold {
            written = Class::new(written).folded().ranges().to_vec();
        }
        ranges.append(&mut written);
        let class = Class::new(ranges);
        Ok(if negated { class.negated() } else { class })
    }

    /// A rune in a class, or the range that it begins.
    fn class_range(&mut self, class: usize) -> Result<(u32, u32), Error> {
        let start = self.at;
        let low = self.class_rune(class)?;
        let continues = matches!(self.rest(), [b'-', next, ..] if *next != b']');
        if !continues {
            return Ok((low, low));
        }
        self.at += 1;
        let high = self.class_rune(class)?;
        if high < low {
            return Err(self.error_since(ErrorCode::InvalidClassRange, start));
        }
        Ok((low, high))
    }

    fn class_rune(&mut self, class: usize) -> Result<u32, Error> {
        match self.rest() {
            [] => Err(self.error_since(ErrorCode::MissingBracket, class)),
            [b'\\', ..] => self.escaped_rune(),
            _ => self.next_rune(),
        }
    }

    /// `[:alpha:]`
    fn posix_class(&mut self) -> Result<Option<Arc<Class>>, Error> {
        let Some(inner) = self.rest().strip_prefix(b"[:") else {
            return Ok(None);
        };
        let Some(length) = memchr::memmem::find(inner, b":]") else {
            return Ok(None);
        };
        let name = inner.part(..length);
        let start = self.at;
        self.at += length + 4;
        let (negated, name) = match name.strip_prefix(b"^") {
            Some(name) => (true, name),
            None => (false, name),
        };
        // The first ones are not POSIX' but Perl's.
        let posix = GROUPS.iter().skip(3).find(|group| group.0.as_bytes() == name);
        match posix {
            Some(group) => Ok(Some(self.group(group.1, negated))),
            None => Err(self.error_since(ErrorCode::InvalidClassRange, start)),
        }
    }

    /// `\pL`, `\p{Greek}`, `\d`
    pub(super) fn escaped_class(&mut self) -> Result<Option<Arc<Class>>, Error> {
        let [b'\\', letter, ..] = *self.rest() else {
            return Ok(None);
        };
        if letter.eq_ignore_ascii_case(&b'p') {
            return self.unicode_class(letter == b'P').map(Some);
        }
        let lower = [letter.to_ascii_lowercase()];
        let Some(group) = GROUPS.iter().find(|group| group.0.as_bytes() == lower) else {
            return Ok(None);
        };
        self.at += 2;
        Ok(Some(self.group(group.1, letter.is_ascii_uppercase())))
    }

    fn group(&self, ranges: &[(u8, u8)], negated: bool) -> Arc<Class> {
        let ranges = ranges.iter().map(|range| (u32::from(range.0), u32::from(range.1)));
        let mut class = Class::new(ranges.collect());
        if self.flags.fold {
            class = class.folded();
        }
        Arc::new(if negated { class.negated() } else { class })
    }

    fn unicode_class(&mut self, mut negated: bool) -> Result<Arc<Class>, Error> {
        let start = self.at;
        self.at += 2;
        let begin = self.at;
        let rune = self.next_rune()?;
        let mut name = self.pattern.part(begin..self.at);
        if rune == u32::from(b'{') {
            let Some(length) = memchr::memchr(b'}', self.rest()) else {
                check_utf8(self.pattern.tail(start))?;
                return Err(Error::new(ErrorCode::InvalidClassRange, self.pattern.tail(start)));
            };
            name = self.rest().part(..length);
            self.at += length + 1;
            check_utf8(name)?;
        }
        if let Some(rest) = name.strip_prefix(b"^") {
            negated = !negated;
            name = rest;
        }
        let key = (name.to_vec(), negated, self.flags.fold);
        if let Some(class) = self.classes.get(&key) {
            return Ok(Arc::clone(class));
        }
        let Some(class) = unicode::named(name, self.flags.fold) else {
            return Err(self.error_since(ErrorCode::InvalidClassRange, start));
        };
        let class = Arc::new(if negated { class.negated() } else { class });
        self.classes.insert(key, Arc::clone(&class));
        Ok(class)
    }

    pub(super) fn escaped_rune(&mut self) -> Result<u32, Error> {
        let start = self.at;
        self.at += 1;
        if self.rest().is_empty() {
            return Err(Error::new(ErrorCode::TrailingBackslash, b""));
        }
        let rune = self.next_rune()?;
        let read = match u8::try_from(rune).unwrap_or(u8::MAX) {
            digit @ b'0'..=b'7' => self.octal(digit),
            b'x' => self.hexadecimal()?,
            b'a' => Some(0x07),
            b'f' => Some(0x0C),
            b'n' => Some(u32::from(b'\n')),
            b'r' => Some(u32::from(b'\r')),
            b't' => Some(u32::from(b'\t')),
            b'v' => Some(0x0B),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Some(rune),
            _ => None,
        };
        read.ok_or_else(|| self.error_since(ErrorCode::InvalidEscape, start))
    }

    /// Up to three digits; a single one that is not zero would be a back reference.
    fn octal(&mut self, first: u8) -> Option<u32> {
        let digits = self
            .rest()
            .iter()
            .take(2)
            .take_while(|byte| matches!(byte, b'0'..=b'7'));
        let digits: Vec<u8> = digits.copied().collect();
        if first != b'0' && digits.is_empty() {
            return None;
        }
        self.at += digits.len();
        let value = |digit: u8| u32::from(digit - b'0');
        Some(digits.iter().fold(value(first), |sum, digit| sum * 8 + value(*digit)))
    }

    /// Two digits, or any number in braces.
    fn hexadecimal(&mut self) -> Result<Option<u32>, Error> {
        if self.rest().is_empty() {
            return Ok(None);
        }
        let first = self.next_rune()?;
        if first != u32::from(b'{') {
            let second = self.next_rune()?;
            return Ok(hex_digit(first)
                .zip(hex_digit(second))
                .map(|(high, low)| high * 16 + low));
        }
        let mut read = None;
        while !self.rest().is_empty() {
            let rune = self.next_rune()?;
            if rune == u32::from(b'}') {
                return Ok(read);
            }
            let Some(digit) = hex_digit(rune) else { break };
            let value = read.unwrap_or(0) * 16 + digit;
            if value > rune::MAX {
                break;
            }
            read = Some(value);
        }
        Ok(None)
    }
}

fn hex_digit(rune: u32) -> Option<u32> {
    char::from_u32(rune)?.to_digit(16)
}

/// An error with everything from the first byte that is not UTF-8.
pub(super) fn check_utf8(mut text: &[u8]) -> Result<(), Error> {
    while !text.is_empty() {
        let Some((_, width)) = decode_strict(text) else {
            return Err(Error::new(ErrorCode::InvalidUtf8, text));
        };
        text = text.tail(width);
    }
    Ok(())
}
