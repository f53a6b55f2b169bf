//! Go's integers as text (`strconv.ParseInt`, `strconv.AppendUint` and related functions).

use super::num_error::{NumError, Reason};
use bumpwright_text::Parts;

/// The longest text of a 64-bit integer: all its bits.
const LONGEST: usize = 64;

/// `strconv.ParseInt`: a signed integer to a base of 2 to 36, that fits into `bits` bits. Base 0 infers the base from
/// the prefix (`0b`, `0o`, `0`, `0x`, else decimal) and allows `_` between digits; 0 bits are those of Go's `int`.
pub fn parse_int(text: impl AsRef<[u8]>, base: u32, bits: u32) -> Result<i64, NumError<i64>> {
    signed("ParseInt", text.as_ref(), base, bits)
}

/// `strconv.ParseUint`: the same without a sign.
pub fn parse_uint(text: impl AsRef<[u8]>, base: u32, bits: u32) -> Result<u64, NumError<u64>> {
    let text = text.as_ref();
    unsigned(text, base, bits).map_err(|(reason, value)| NumError::new("ParseUint", text, reason, value))
}

/// `strconv.Atoi`: a decimal `int`.
pub fn atoi(text: impl AsRef<[u8]>) -> Result<i64, NumError<i64>> {
    signed("Atoi", text.as_ref(), 10, 0)
}

fn signed(function: &'static str, text: &[u8], base: u32, bits: u32) -> Result<i64, NumError<i64>> {
    let error = |reason, value| NumError::new(function, text, reason, value);
    let (negative, digits) = split_sign(text);
    let magnitude = match unsigned(digits, base, bits) {
        Ok(magnitude) | Err((Reason::Range, magnitude)) => magnitude,
        Err((reason, _)) => return Err(error(reason, 0)),
    };
    let bits = if bits == 0 { 64 } else { bits };
    let beyond = 1_u64 << (bits - 1);
    match negative {
        false if magnitude >= beyond => Err(error(Reason::Range, (beyond - 1).cast_signed())),
        true if magnitude > beyond => Err(error(Reason::Range, beyond.cast_signed().wrapping_neg())),
        false => Ok(magnitude.cast_signed()),
        true => Ok(magnitude.cast_signed().wrapping_neg()),
    }
}

/// The number, or the problem and Go's result beside it.
fn unsigned(text: &[u8], base: u32, bits: u32) -> Result<u64, (Reason, u64)> {
    const SYNTAX: (Reason, u64) = (Reason::Syntax, 0);
    if text.is_empty() {
        return Err(SYNTAX);
    }
    let (radix, digits) = match base {
        0 => prefixed(text),
        2..=36 => (base, text),
        _ => return Err((Reason::Base(base), 0)),
    };
    let most = match bits {
        0 | 64 => u64::MAX,
        1..64 => (1 << bits) - 1,
        _ => return Err((Reason::BitSize(bits), 0)),
    };
    let mut number = 0_u64;
    let mut underscores = false;
    for byte in digits {
        if *byte == b'_' && base == 0 {
            underscores = true;
            continue;
        }
        let digit = char::from(*byte).to_digit(radix).ok_or(SYNTAX)?;
        number = number
            .checked_mul(u64::from(radix))
            .and_then(|number| number.checked_add(u64::from(digit)))
            .filter(|number| *number <= most)
            .ok_or((Reason::Range, most))?;
    }
    if underscores && !underscores_fit(text) {
        return Err(SYNTAX);
    }
    Ok(number)
}

/// Whether a text begins with a minus, and the rest after its sign if it has one.
pub(crate) fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    }
}

/// The base of the prefix, and the rest.
fn prefixed(text: &[u8]) -> (u32, &[u8]) {
    match text {
        [b'0', b'b' | b'B', rest @ ..] if !rest.is_empty() => (2, rest),
        [b'0', b'o' | b'O', rest @ ..] if !rest.is_empty() => (8, rest),
        [b'0', b'x' | b'X', rest @ ..] if !rest.is_empty() => (16, rest),
        [b'0', rest @ ..] => (8, rest),
        all => (10, all),
    }
}

/// Whether each `_` of a number is between digits, or between the prefix of the base and a digit.
pub(crate) fn underscores_fit(text: &[u8]) -> bool {
    let (_, text) = split_sign(text);
    let (mut last, hex, rest) = match text {
        [b'0', b'b' | b'B' | b'o' | b'O', rest @ ..] => (DigitClass::Digit, false, rest),
        [b'0', b'x' | b'X', rest @ ..] => (DigitClass::Digit, true, rest),
        all => (DigitClass::Other, false, all),
    };
    for byte in rest {
        let next = match byte {
            b'_' => DigitClass::Underscore,
            _ if byte.is_ascii_digit() || hex && byte.is_ascii_hexdigit() => DigitClass::Digit,
            _ => DigitClass::Other,
        };
        match (last, next) {
            (DigitClass::Other | DigitClass::Underscore, DigitClass::Underscore)
            | (DigitClass::Underscore, DigitClass::Other) => return false,
            _ => last = next,
        }
    }
    last != DigitClass::Underscore
}

#[derive(Clone, Copy, PartialEq)]
enum DigitClass {
    Digit,
    Underscore,
    Other,
}

/// `strconv.AppendUint`: appends the digits of a number to a base of 2 to 36, in lower case.
pub(crate) fn append_uint(out: &mut Vec<u8>, number: u64, base: u32) {
    out.extend_from_slice(Digits::new(number, base).bytes());
}

/// A byte as two hexadecimal digits, in lower case.
pub fn hex_pair(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 0xf].map(|half| match half {
        0..10 => b'0' + half,
        _ => b'a' - 10 + half,
    })
}

/// The digits of a number, without an allocation.
#[derive(Clone, Debug)]
pub struct Digits {
    places: [u8; LONGEST],
    used: usize,
}

impl Digits {
    /// To a base of 2 to 36, in lower case.
    pub fn new(number: u64, base: u32) -> Self {
        let mut places = [b'0'; LONGEST];
        let base = u64::from(base.clamp(2, 36));
        let mut left = number;
        let mut used = 0;
        for place in places.iter_mut().rev() {
            *place = match left % base {
                digit @ 0..10 => b'0' + digit as u8,
                digit => b'a' - 10 + digit as u8,
            };
            used += 1;
            left /= base;
            if left == 0 {
                break;
            }
        }
        Self { places, used }
    }

    /// The same digits in upper case.
    pub fn upper(mut self) -> Self {
        self.places.make_ascii_uppercase();
        self
    }

    /// The digits, at least one.
    pub fn bytes(&self) -> &[u8] {
        self.places.part(LONGEST - self.used..)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_integers() {
        for (text, base, bits, expected) in [
            ("0", 0, 64, "0"),
            ("-0x_fF", 0, 64, "-255"),
            ("0b101", 0, 64, "5"),
            ("0o17", 0, 64, "15"),
            ("017", 0, 64, "15"),
            ("017", 10, 64, "17"),
            ("1_000", 0, 64, "1000"),
            ("+zz", 36, 64, "1295"),
            ("-9223372036854775808", 10, 64, "-9223372036854775808"),
            ("-128", 10, 8, "-128"),
            ("128", 10, 8, r#"strconv.ParseInt: parsing "128": value out of range"#),
            ("0x", 0, 64, r#"strconv.ParseInt: parsing "0x": invalid syntax"#),
            ("1__0", 0, 64, r#"strconv.ParseInt: parsing "1__0": invalid syntax"#),
            ("1_0", 10, 64, r#"strconv.ParseInt: parsing "1_0": invalid syntax"#),
            ("08", 0, 64, r#"strconv.ParseInt: parsing "08": invalid syntax"#),
            ("", 10, 64, r#"strconv.ParseInt: parsing "": invalid syntax"#),
            ("-", 10, 64, r#"strconv.ParseInt: parsing "-": invalid syntax"#),
            ("1", 1, 64, r#"strconv.ParseInt: parsing "1": invalid base 1"#),
            ("1", 10, 65, r#"strconv.ParseInt: parsing "1": invalid bit size 65"#),
        ] {
            let got = parse_int(text, base, bits).map_or_else(|error| error.to_string(), |number| number.to_string());
            assert_eq!(got, expected, "{text}");
        }
    }

    #[test]
    fn says_what_comes_nearest() {
        assert_eq!(atoi("99999999999999999999").unwrap_err().value, i64::MAX);
        assert_eq!(parse_int("-300", 10, 8).unwrap_err().value, -128);
        assert_eq!(parse_uint("300", 10, 8).unwrap_err().value, 255);
        assert_eq!(parse_uint("-1", 10, 8).unwrap_err().value, 0);
    }

    #[test]
    fn writes_integers() {
        for (number, base, expected) in [
            (u64::MAX, 2, "1".repeat(64)),
            (u64::MAX, 10, u64::MAX.to_string()),
            (0, 36, "0".to_owned()),
            (35, 36, "z".to_owned()),
        ] {
            assert_eq!(Digits::new(number, base).bytes(), expected.as_bytes());
        }
        assert_eq!(Digits::new(255, 16).upper().bytes(), b"FF");
    }
}
