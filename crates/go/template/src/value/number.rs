//! Number and character literals with all values that they can stand for: a small version of Go's untyped constants.

use crate::parse::node::{Number, Pos};
use bumpwright_gostd::{NumError, Reason, Unquoted, parse_float, parse_int, parse_uint, quote, unquote_char};

/// 2⁶³ and 2⁶⁴: the smallest floats beyond the integers.
const INT_END: f64 = 9_223_372_036_854_775_808.0;
const UINT_END: f64 = 18_446_744_073_709_551_616.0;

/// Why a text is not a constant, in Go's words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum NumberError {
    /// The character is not valid.
    #[error("{}", Reason::Syntax)]
    Syntax,
    #[error("malformed character constant: {0}")]
    Character(String),
    #[error("syntax error scanning complex number")]
    Complex,
    /// A part of a complex number.
    #[error(transparent)]
    Part(#[from] NumError<f64>),
    #[error("illegal number syntax: {}", quote(.0))]
    Illegal(String),
    #[error("integer overflow: {}", quote(.0))]
    Overflow(String),
}

/// `'a'`: the code point of the character.
pub(crate) fn character(pos: Pos, text: &str) -> Result<Number, NumberError> {
    let inner = text.strip_prefix('\'').unwrap_or(text);
    let (unquoted, tail) = unquote_char(inner, '\'').ok_or(NumberError::Syntax)?;
    if tail != "'" {
        return Err(NumberError::Character(text.to_owned()));
    }
    let code = match unquoted {
        Unquoted::Byte(byte) => u32::from(byte),
        Unquoted::Char(c) => u32::from(c),
    };
    Ok(Number {
        int: Some(code.into()),
        uint: Some(code.into()),
        float: Some(code.into()),
        ..nothing(pos, text)
    })
}

/// `1+2i`
pub(crate) fn complex(pos: Pos, text: &str) -> Result<Number, NumberError> {
    let (real, imaginary) = complex_parts(text).ok_or(NumberError::Complex)?;
    Ok(of_complex(
        pos,
        text,
        parse_float(real, 64)?,
        parse_float(imaginary, 64)?,
    ))
}

/// `1`, `0x1F`, `1_000.5e3`, `2i`
pub(crate) fn number(pos: Pos, text: &str) -> Result<Number, NumberError> {
    if let Some(imaginary) = text.strip_suffix('i').and_then(|text| parse_float(text, 64).ok()) {
        return Ok(of_complex(pos, text, 0.0, imaginary));
    }
    let int = parse_int(text, 0, 64).ok();
    // `-0` has a sign that unsigned integers do not have.
    let uint = parse_uint(text, 0, 64).ok().or(int.filter(|int| *int == 0).map(|_| 0));
    #[allow(clippy::cast_precision_loss)] // Go's conversion rounds too.
    if let Some(float) = int.map(|int| int as f64).or(uint.map(|uint| uint as f64)) {
        return Ok(Number {
            int,
            uint,
            float: Some(float),
            ..nothing(pos, text)
        });
    }
    let Ok(float) = parse_float(text, 64) else {
        return Err(NumberError::Illegal(text.to_owned()));
    };
    if !text.contains(['.', 'e', 'E', 'p', 'P']) {
        return Err(NumberError::Overflow(text.to_owned()));
    }
    Ok(of_float(pos, text, float))
}

fn nothing(pos: Pos, text: &str) -> Number {
    Number {
        pos,
        text: text.to_owned(),
        int: None,
        uint: None,
        float: None,
        complex: None,
    }
}

/// A float, and the integers that it is equal to.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Only what fits is cast.
fn of_float(pos: Pos, text: &str, float: f64) -> Number {
    let is_whole = float.fract() == 0.0;
    Number {
        int: (is_whole && (-INT_END..INT_END).contains(&float)).then_some(float as i64),
        uint: (is_whole && (0.0..UINT_END).contains(&float)).then_some(float as u64),
        float: Some(float),
        ..nothing(pos, text)
    }
}

/// A complex number, and its real part when the imaginary part is zero.
fn of_complex(pos: Pos, text: &str, real: f64, imaginary: f64) -> Number {
    let number = if imaginary == 0.0 {
        of_float(pos, text, real)
    } else {
        nothing(pos, text)
    };
    Number {
        complex: Some((real, imaginary)),
        ..number
    }
}

/// Splits `1+2i` as Go's `fmt.Sscan` does: into real part and imaginary part with its sign.
fn complex_parts(text: &str) -> Option<(&str, &str)> {
    let (real, imaginary) = text.split_at_checked(float_length(text))?;
    let sign_length = usize::from(imaginary.starts_with(['+', '-']));
    if sign_length == 0 {
        return None;
    }
    let length = sign_length + float_length(imaginary.get(sign_length..)?);
    let (imaginary, unit) = imaginary.split_at_checked(length)?;
    unit.starts_with('i').then_some((real, imaginary))
}

/// The length of the prefix that looks like a float to `fmt.Sscan`.
fn float_length(text: &str) -> usize {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    // It might have become `Inf`: only the letter is lost, and with it the unit of `1+i`.
    rest = rest.strip_prefix('i').unwrap_or(rest);
    let hex = rest.strip_prefix("0x").or(rest.strip_prefix("0X"));
    let base = if hex.is_some() { 16 } else { 10 };
    let digits = |c: char| c.is_digit(base) || c == '_';
    rest = hex.unwrap_or(rest).trim_start_matches(digits);
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(digits);
    }
    let exponent = if base == 16 { ['p', 'P'] } else { ['e', 'E'] };
    if let Some(digits) = rest.strip_prefix(exponent) {
        let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        rest = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    }
    text.len() - rest.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn a_number_is_all_that_it_is_equal_to() {
        for (text, int, uint, float) in [
            ("0", Some(0), Some(0), Some(0.0)),
            ("-0", Some(0), Some(0), Some(0.0)),
            ("+5", Some(5), None, Some(5.0)),
            ("-7", Some(-7), None, Some(-7.0)),
            ("017", Some(15), Some(15), Some(15.0)),
            ("0o1_7", Some(15), Some(15), Some(15.0)),
            ("0b101", Some(5), Some(5), Some(5.0)),
            ("0xFF", Some(255), Some(255), Some(255.0)),
            ("1_000", Some(1000), Some(1000), Some(1000.0)),
            ("18446744073709551615", None, Some(u64::MAX), Some(UINT_END)),
            ("1.5", None, None, Some(1.5)),
            ("1e3", Some(1000), Some(1000), Some(1000.0)),
            ("-1e3", Some(-1000), None, Some(-1000.0)),
            ("0x1p-2", None, None, Some(0.25)),
            ("9223372036854775808.0", None, Some(1 << 63), Some(INT_END)),
            ("-9223372036854775808.0", Some(i64::MIN), None, Some(-INT_END)),
            ("18446744073709551616.0", None, None, Some(UINT_END)),
            ("-0.0", Some(0), Some(0), Some(-0.0)),
        ] {
            let number = number(0, text).unwrap();
            assert_eq!((number.int, number.uint, number.float), (int, uint, float), "{text}");
            assert_eq!(number.complex, None, "{text}");
        }
    }

    #[test]
    fn complex_numbers_lose_an_imaginary_part_of_zero() {
        for (text, parts, int, float) in [
            ("2i", (0.0, 2.0), None, None),
            ("-0i", (0.0, 0.0), Some(0), Some(0.0)),
            ("017i", (0.0, 17.0), None, None),
            ("1+2i", (1.0, 2.0), None, None),
            ("-1.5e1-.5i", (-15.0, -0.5), None, None),
            ("0x1p4-0x1p-1i", (16.0, -0.5), None, None),
            ("3+0i", (3.0, 0.0), Some(3), Some(3.0)),
        ] {
            let read = if text.starts_with('-') || !text.contains(['+', '-']) {
                number
            } else {
                complex
            };
            let number = read(0, text).or_else(|_| complex(0, text)).unwrap();
            assert_eq!(number.complex, Some(parts), "{text}");
            assert_eq!((number.int, number.float), (int, float), "{text}");
        }
    }

    #[test]
    fn faults_are_told_as_in_go() {
        type Read = fn(Pos, &str) -> Result<Number, NumberError>;
        for (read, text, expected) in [
            (number as Read, "08", r#"integer overflow: "08""#),
            (
                number,
                "99999999999999999999",
                r#"integer overflow: "99999999999999999999""#,
            ),
            (number, "-", r#"illegal number syntax: "-""#),
            (number, "0x1i", r#"illegal number syntax: "0x1i""#),
            (number, "1e400", r#"illegal number syntax: "1e400""#),
            (number, "1__0", r#"illegal number syntax: "1__0""#),
            (complex, "1+i", "syntax error scanning complex number"),
            (complex, "1i+2i", "syntax error scanning complex number"),
            (complex, "0b1+2i", "syntax error scanning complex number"),
            (
                complex,
                "1+1e999i",
                r#"strconv.ParseFloat: parsing "+1e999": value out of range"#,
            ),
            (complex, ".+.i", r#"strconv.ParseFloat: parsing ".": invalid syntax"#),
            (character, "''", "invalid syntax"),
            (character, r"'\q'", "invalid syntax"),
            (character, "'ab'", "malformed character constant: 'ab'"),
        ] {
            assert_eq!(read(0, text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn characters_are_their_numbers() {
        for (text, code) in [
            ("'a'", 97),
            ("'世'", 0x4e16),
            (r"'\n'", 10),
            (r"'\xff'", 255),
            (r"'\''", 39),
        ] {
            let number = character(0, text).unwrap();
            assert_eq!(
                (number.int, number.uint),
                (Some(code), u64::try_from(code).ok()),
                "{text}"
            );
        }
    }
}
