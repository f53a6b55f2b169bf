//! Resolves the text of a scalar to a typed value: the rules of go-yaml v3 (YAML 1.2 booleans) and
//! v2 (YAML 1.1 booleans).

use std::borrow::Cow;

use super::options::Dialect;
use crate::node::{Scalar, Style, Tag};
use bumpwright_gostd::{parse_float, parse_int, parse_uint};
use bumpwright_text::Parts;

/// The value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above all of [`Resolved::Int`].
    Uint(u64),
    Float(f64),
    /// A timestamp, as RFC 3339 with nanoseconds.
    Timestamp(String),
    Text(Cow<'a, str>),
    /// The bytes of `!!binary`.
    Bytes(Vec<u8>),
}

impl Resolved<'_> {
    /// The tag of the value.
    #[must_use]
    pub const fn tag(&self) -> Tag {
        match self {
            Self::Null => Tag::Null,
            Self::Bool(_) => Tag::Bool,
            Self::Int(_) | Self::Uint(_) => Tag::Int,
            Self::Float(_) => Tag::Float,
            Self::Timestamp(_) => Tag::Timestamp,
            Self::Text(_) => Tag::Str,
            Self::Bytes(_) => Tag::Binary,
        }
    }
}

/// The value of a plain scalar without a tag.
#[must_use]
pub fn resolve(text: &str, dialect: Dialect) -> Resolved<'_> {
    resolve_for(text, dialect, true)
}

/// The tag that plain text resolves to.
#[must_use]
pub fn plain_tag(text: &str, dialect: Dialect) -> Tag {
    match text.as_bytes().first() {
        Some(
            b'+'
            | b'-'
            | b'.'
            | b'0'..=b'9'
            | b'y'
            | b'Y'
            | b'n'
            | b'N'
            | b't'
            | b'T'
            | b'f'
            | b'F'
            | b'o'
            | b'O'
            | b'~',
        )
        | None => resolve(text, dialect).tag(),
        Some(_) => Tag::Str,
    }
}

fn resolve_for(text: &str, dialect: Dialect, dates: bool) -> Resolved<'_> {
    let resolved = match text.as_bytes().first() {
        None | Some(b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'y' | b'Y' | b'o' | b'O' | b'.') => {
            word(text, dialect)
        }
        Some(b'+' | b'-') => word(text, dialect).or_else(|| number(text, dialect, dates)),
        Some(b'0'..=b'9') => number(text, dialect, dates),
        Some(_) => None,
    };
    resolved
        .or_else(|| {
            if text.starts_with('.') {
                parse_float(text, 64).ok().map(Resolved::Float)
            } else {
                None
            }
        })
        .unwrap_or(Resolved::Text(Cow::Borrowed(text)))
}

/// The words with a value.
fn word(text: &str, dialect: Dialect) -> Option<Resolved<'static>> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Resolved::Float(f64::NEG_INFINITY),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if dialect == Dialect::V2 => Resolved::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if dialect == Dialect::V2 => Resolved::Bool(false),
        _ => return None,
    })
}

/// Text that begins like a number: a date, an integer in any base, a float.
fn number(text: &str, dialect: Dialect, dates: bool) -> Option<Resolved<'static>> {
    if let Some(number) = short_decimal(text.as_bytes()) {
        return Some(Resolved::Int(number));
    }
    if dates && let Some(time) = timestamp(text) {
        return Some(Resolved::Timestamp(time));
    }
    let plain: Cow<'_, str> = if text.contains('_') {
        text.replace('_', "").into()
    } else {
        text.into()
    };
    let digits = |text: &str, base| {
        let signed = parse_int(text, base, 64).ok().map(Resolved::Int);
        signed.or_else(|| parse_uint(text, base, 64).ok().map(Resolved::Uint))
    };
    if let Some(whole) = digits(&plain, 0) {
        return Some(whole);
    }
    if is_decimal_float(&plain)
        && let Ok(float) = parse_float(plain.as_bytes(), 64)
    {
        return Some(Resolved::Float(float));
    }
    for (prefix, base) in [("0b", 2), ("0o", 8)] {
        if base == 8 && dialect == Dialect::V2 {
            continue;
        }
        if let Some(rest) = plain.strip_prefix(prefix) {
            return digits(rest, base);
        }
        if let Some(rest) = plain.strip_prefix('-').and_then(|plain| plain.strip_prefix(prefix)) {
            return parse_int(format!("-{rest}"), base, 64).ok().map(Resolved::Int);
        }
    }
    None
}

/// A decimal number without leading zero that fits for certain.
fn short_decimal(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let plausible = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && digits.len() <= 18;
    if !plausible || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits
        .iter()
        .fold(0_i64, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some(if negative { -number } else { number })
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, the floats of go-yaml.
fn is_decimal_float(text: &str) -> bool {
    let mut rest = text.as_bytes();
    let digits = |rest: &mut &[u8]| {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        *rest = rest.tail(count);
        count
    };
    if let [b'-' | b'+', tail @ ..] = rest {
        rest = tail;
    }
    let whole = digits(&mut rest);
    let mut fraction = 0;
    if let [b'.', tail @ ..] = rest {
        rest = tail;
        fraction = digits(&mut rest);
    }
    if whole + fraction == 0 {
        return false;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        rest = tail;
        if let [b'-' | b'+', tail @ ..] = rest {
            rest = tail;
        }
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    rest.is_empty()
}

/// The timestamp of a date, as RFC 3339 with nanoseconds.
fn timestamp(text: &str) -> Option<String> {
    const FORMS: [&[u8]; 4] = [
        b"2006-1-2T15:4:5.999999999Z07:00",
        b"2006-1-2t15:4:5.999999999Z07:00",
        b"2006-1-2 15:4:5.999999999",
        b"2006-1-2",
    ];
    let bytes = text.as_bytes();
    if bytes.iter().take_while(|byte| byte.is_ascii_digit()).count() != 4 || bytes.get(4) != Some(&b'-') {
        return None;
    }
    let time = FORMS
        .iter()
        .find_map(|form| bumpwright_gostd::Time::parse(form, bytes).ok())?;
    let spelled = time.format(bumpwright_gostd::RFC_3339_NANO);
    String::from_utf8(spelled).ok()
}

/// A scalar whose text does not have the type of its tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// The text is of another type.
    #[error("cannot decode {found} `{text}` as a {tag}")]
    Mismatch {
        /// The type of the text.
        found: &'static str,
        text: String,
        /// The type of the tag.
        tag: &'static str,
    },
    /// `!!binary` with an invalid base64 text.
    #[error("!!binary value contains invalid base64 data")]
    Binary,
}

/// The value of a scalar, by its tag: as go-yaml v3 decodes it. An empty tag counts as none: style
/// and text decide then.
///
/// # Errors
/// Where the text does not fit the tag.
pub fn decode(scalar: &Scalar, dialect: Dialect) -> Result<Resolved<'_>, TagError> {
    let text = scalar.text.as_str();
    let wanted = match &scalar.tag {
        Tag::Other(none) if none.is_empty() && scalar.style == Style::Plain => return Ok(resolve(text, dialect)),
        Tag::Str | Tag::Merge | Tag::Other(_) => return Ok(Resolved::Text(Cow::Borrowed(text))),
        Tag::Binary => return decode_base64(text).map(Resolved::Bytes).ok_or(TagError::Binary),
        tag => tag,
    };
    let value = resolve_for(text, dialect, *wanted == Tag::Timestamp);
    match (wanted, value) {
        #[allow(clippy::cast_precision_loss)] // as Go converts
        (Tag::Float, Resolved::Int(number)) => Ok(Resolved::Float(number as f64)),
        (wanted, value) if value.tag() == *wanted => Ok(value),
        (wanted, value) => Err(TagError::Mismatch {
            found: tag_name(&value.tag()),
            text: text.to_owned(),
            tag: tag_name(wanted),
        }),
    }
}

const fn tag_name(tag: &Tag) -> &'static str {
    match tag {
        Tag::Null => "!!null",
        Tag::Bool => "!!bool",
        Tag::Int => "!!int",
        Tag::Float => "!!float",
        Tag::Timestamp => "!!timestamp",
        Tag::Binary => "!!binary",
        Tag::Merge => "!!merge",
        Tag::Str | Tag::Other(_) => "!!str",
    }
}

/// The tag in the file, or the one that style and text imply.
pub(crate) fn tag_of(text: &str, style: Style, given: Option<&str>, dialect: Dialect) -> Tag {
    match given {
        Some("!") if dialect == Dialect::V2 && text == "<<" => Tag::Merge,
        Some("!") if dialect == Dialect::V2 => Tag::Str,
        Some(tag) if tag != "!" => short_tag(tag),
        _ if style != Style::Plain => Tag::Str,
        _ if text == "<<" => Tag::Merge,
        _ => plain_tag(text, dialect),
    }
}

/// The tag for `tag:yaml.org,2002:…` or `!…`.
fn short_tag(tag: &str) -> Tag {
    let name = tag
        .strip_prefix("tag:yaml.org,2002:")
        .or_else(|| tag.strip_prefix("!!"));
    match name {
        Some("null") => Tag::Null,
        Some("bool") => Tag::Bool,
        Some("int") => Tag::Int,
        Some("float") => Tag::Float,
        Some("timestamp") => Tag::Timestamp,
        Some("str") => Tag::Str,
        Some("binary") => Tag::Binary,
        Some("merge") => Tag::Merge,
        Some(name) => Tag::Other(format!("!!{name}").into()),
        None => Tag::Other(tag.into()),
    }
}

/// The tag of a collection if it is not the default one.
pub(crate) fn collection_tag(given: Option<&str>, usual: &str) -> Option<Box<str>> {
    let tag = given.filter(|tag| *tag != "!")?;
    let short = match tag.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => tag.to_owned(),
    };
    (short != usual).then(|| short.into())
}

/// Base64 as Go's standard decoder accepts it: padded, line breaks ignored.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let symbols: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    if !symbols.len().is_multiple_of(4) {
        return None;
    }
    let padding = symbols.iter().rev().take_while(|&&byte| byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(symbols.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for &symbol in symbols.get(..symbols.len() - padding)? {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from((bits >> held) & 0xFF).ok()?);
        }
    }
    Some(out)
}
