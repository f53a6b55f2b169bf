//! Percent-encoding in Go's `net/url`, by part of a URL.

use crate::number::integer::hex_pair;
use crate::quote::quote_bytes;
use thiserror::Error;

/// Why escapes of a URL cannot be read, as Go's `net/url` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EscapeError {
    /// `%` without two hexadecimal digits, or an escape that a host cannot have.
    #[error("invalid URL escape {}", quote_bytes(.0))]
    Escape(Vec<u8>),
    /// A character that a host can have in escaped form only.
    #[error("invalid character {} in host name", quote_bytes(&[*.0]))]
    HostCharacter(u8),
}

/// A part of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Path,
    Host,
    /// The zone of an IPv6 address.
    HostZone,
    User,
    Query,
    Fragment,
}

/// `text` escaped for the query of a URL: Go's `url.QueryEscape`, which is also `urlquery` of templates.
pub fn query_escape(text: &[u8]) -> String {
    escape(text, Part::Query)
}

/// `text` without the escapes of a path: Go's `url.PathUnescape`.
pub fn path_unescape(text: &[u8]) -> Result<Vec<u8>, EscapeError> {
    unescape(text, Part::Path)
}

/// `text` escaped for a part of a URL.
pub(crate) fn escape(text: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text {
        match byte {
            b' ' if part == Part::Query => out.push('+'),
            byte if must_escape(*byte, part) => {
                out.push('%');
                out.extend(hex_pair(*byte).map(|digit| char::from(digit.to_ascii_uppercase())));
            }
            byte => out.push(char::from(*byte)),
        }
    }
    out
}

pub(crate) fn unescape(text: &[u8], part: Part) -> Result<Vec<u8>, EscapeError> {
    let in_host = matches!(part, Part::Host | Part::HostZone);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let value = value_of(*high) << 4 | value_of(*low);
                // In a host, only what is not ASCII may be escaped; and the sign itself, before a zone.
                let refused = match part {
                    _ if value == b'%' => false,
                    Part::Host => value < 0x80,
                    Part::HostZone => value != b' ' && must_escape(value, Part::Host),
                    _ => false,
                };
                if refused {
                    return Err(EscapeError::Escape(vec![b'%', *high, *low]));
                }
                out.push(value);
                rest = after;
            }
            (b'%', _) => {
                let start = [b'%'].into_iter().chain(after.iter().copied());
                return Err(EscapeError::Escape(start.take(3).collect()));
            }
            (byte, _) if in_host && byte.is_ascii() && must_escape(*byte, part) => {
                return Err(EscapeError::HostCharacter(*byte));
            }
            (byte, _) => out.push(*byte),
        }
    }
    Ok(out)
}

/// The value of a hexadecimal digit.
const fn value_of(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        letter => (letter | 0x20).wrapping_sub(b'a' - 10),
    }
}

/// Whether a byte must be escaped in that part.
pub(crate) fn must_escape(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    let plain: &[u8] = match part {
        Part::Path => b"$&+,/:;=@",
        Part::Host | Part::HostZone => b"!$&'()*+,;=:[]<>\"",
        Part::User => b"$&+,;=",
        Part::Query => b"",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    !plain.contains(&byte)
}
