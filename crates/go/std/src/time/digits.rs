//! Digits at the start of a text, as Go's `time` parses and writes them.

use crate::number::integer::split_sign;

/// The number at the start of `text`, and the rest. `None` if it is above 2⁶³. No digits at all are 0.
pub(crate) fn leading_number(text: &[u8]) -> Option<(u64, &[u8])> {
    const MOST: u64 = 1 << 63;
    let mut number: u64 = 0;
    let mut rest = text;
    while let Some((digit, after)) = leading_digit(rest) {
        if number > MOST / 10 {
            return None;
        }
        number = number * 10 + digit;
        if number > MOST {
            return None;
        }
        rest = after;
    }
    Some((number, rest))
}

/// The digit at the start of `text`, and the rest.
pub(crate) fn leading_digit(text: &[u8]) -> Option<(u64, &[u8])> {
    match text {
        [digit @ b'0'..=b'9', rest @ ..] => Some((u64::from(digit - b'0'), rest)),
        _ => None,
    }
}

/// A whole text as a number with an optional sign. The empty text is 0.
pub(crate) fn signed_number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    let (number, rest) = leading_number(digits)?;
    let number = number.cast_signed();
    rest.is_empty()
        .then_some(if negative { number.wrapping_neg() } else { number })
}

/// Appends a number, with zeros before it up to `width` digits; a sign does not count.
pub(crate) fn push_padded(out: &mut Vec<u8>, number: i64, width: usize) {
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(format!("{:0width$}", number.unsigned_abs()).as_bytes());
}
