//! Checks IP addresses as Go's `netip.ParseAddr` does, with its errors. The address itself is not returned.

use super::quote::quote_bytes;
use bumpwright_text::{Parts, between};
use thiserror::Error;

/// Why a text is not an address, as Go's `ParseAddr` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("ParseAddr({}): {problem}{}", quote_bytes(.text), between(" (at ", .at.as_ref().map(|at| quote_bytes(at)), ")"))]
pub struct AddressError {
    pub text: Vec<u8>,
    /// The rule that it breaks.
    pub problem: &'static str,
    /// The text from there on, where that helps.
    pub at: Option<Vec<u8>>,
}

/// The version of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    V4,
    /// Up to eight groups of hexadecimal digits.
    V6,
}

/// Returns the version of the address `text`.
///
/// # Errors
/// Go's: `ParseAddr("x"): unable to parse IP`.
pub fn check_ip(text: &[u8]) -> Result<IpVersion, AddressError> {
    let checked = match text.iter().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => check_v4(text).map(|()| IpVersion::V4),
        Some(b':') => check_v6(text).map(|()| IpVersion::V6),
        Some(_) => Err(Fault::plain("missing IPv6 address")),
        None => Err(Fault::plain("unable to parse IP")),
    };
    checked.map_err(|fault| AddressError {
        text: text.to_vec(),
        problem: fault.what,
        at: Some(fault.at.to_vec()).filter(|at| !at.is_empty()),
    })
}

/// The problem, and the text from there on.
struct Fault<'t> {
    what: &'static str,
    at: &'t [u8],
}

impl<'t> Fault<'t> {
    fn plain(what: &'static str) -> Self {
        Self { what, at: b"" }
    }

    fn at(what: &'static str, at: &'t [u8]) -> Self {
        Self { what, at }
    }
}

fn check_v4(text: &[u8]) -> Result<(), Fault<'_>> {
    let (mut value, mut digits, mut dots) = (0_u32, 0, 0);
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(Fault::plain("IPv4 field has octet with leading zero"));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(Fault::plain("IPv4 field has value >255"));
                }
            }
            b'.' if digits == 0 || after.is_empty() => {
                return Err(Fault::at("IPv4 field must have at least one digit", rest));
            }
            b'.' if dots == 3 => return Err(Fault::plain("IPv4 address too long")),
            b'.' => (value, digits, dots) = (0, 0, dots + 1),
            _ => return Err(Fault::at("unexpected character", rest)),
        }
        rest = after;
    }
    if dots < 3 {
        return Err(Fault::plain("IPv4 address too short"));
    }
    Ok(())
}

fn check_v6(text: &[u8]) -> Result<(), Fault<'_>> {
    let mut rest = text;
    if let Some(percent) = text.iter().position(|byte| *byte == b'%') {
        let (address, zone) = text.split_at(percent);
        if zone == b"%" {
            return Err(Fault::plain("zone must be a non-empty string"));
        }
        rest = address;
    }
    let mut ellipsis = rest.starts_with(b"::");
    if ellipsis {
        rest = rest.tail(2);
        if rest.is_empty() {
            return Ok(());
        }
    }
    let mut fields = 0;
    while fields < 8 {
        let digits = field_length(rest)?;
        let (_, after) = rest.split_at_checked(digits).unwrap_or((rest, b""));
        if after.starts_with(b".") {
            if !ellipsis && fields != 6 {
                let what = "embedded IPv4 address must replace the final 2 fields of the address";
                return Err(Fault::at(what, rest));
            }
            if fields > 6 {
                let what = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err(Fault::at(what, rest));
            }
            check_v4(rest)?;
            fields += 2;
            rest = b"";
            break;
        }
        fields += 1;
        rest = match after {
            [] => {
                rest = b"";
                break;
            }
            [b':'] => return Err(Fault::at("colon must be followed by more characters", after)),
            [b':', rest @ ..] if ellipsis && rest.starts_with(b":") => {
                return Err(Fault::at("multiple :: in address", rest));
            }
            [b':', b':', after @ ..] => {
                ellipsis = true;
                if after.is_empty() {
                    rest = b"";
                    break;
                }
                after
            }
            [b':', after @ ..] => after,
            _ => return Err(Fault::at("unexpected character, want colon", after)),
        };
    }
    match (rest.is_empty(), fields < 8, ellipsis) {
        (false, ..) => Err(Fault::at("trailing garbage after address", rest)),
        (true, true, false) => Err(Fault::plain("address string too short")),
        (true, false, true) => Err(Fault::plain("the :: must expand to at least one field of zeros")),
        _ => Ok(()),
    }
}

/// The length of a group of one to four hexadecimal digits at the start of the text.
fn field_length(text: &[u8]) -> Result<usize, Fault<'_>> {
    match text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() {
        0 => Err(Fault::at(
            "each colon-separated field must have at least one digit",
            text,
        )),
        digits @ 1..=4 => Ok(digits),
        _ => Err(Fault::at("each group must have 4 or less digits", text)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn knows_addresses_and_what_is_wrong_with_others() {
        for text in [
            "::",
            "::1",
            "1::",
            "1:2:3:4:5:6:7:8",
            "fe80::1%en0",
            "1:2:3:4:5:6:1.2.3.4",
            "::1.2.3.4",
        ] {
            assert_eq!(check_ip(text.as_bytes()), Ok(IpVersion::V6), "{text}");
        }
        assert_eq!(check_ip(b"1.2.3.4"), Ok(IpVersion::V4));
        for (text, expected) in [
            ("x", "unable to parse IP"),
            ("1.2.3", "IPv4 address too short"),
            ("1..2.3", "IPv4 field must have at least one digit (at \".2.3\")"),
            ("1::2::3", "multiple :: in address (at \":3\")"),
            ("1:2", "address string too short"),
            ("12345::", "each group must have 4 or less digits (at \"12345::\")"),
            ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
            ("1:2:3:4:5:6:7:8:9", "trailing garbage after address (at \"9\")"),
            ("fe80::1%", "zone must be a non-empty string"),
        ] {
            let expected = format!("ParseAddr(\"{text}\"): {expected}");
            assert_eq!(check_ip(text.as_bytes()).unwrap_err().to_string(), expected);
        }
    }
}
