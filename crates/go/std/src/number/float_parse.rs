//! Parses floating-point numbers as Go does (`strconv.ParseFloat`).

use super::{
    integer::{split_sign, underscores_fit},
    num_error::{NumError, Reason},
};

/// `strconv.ParseFloat`: decimal and hexadecimal numbers, infinities and NaN; `bits` is the size of the type, 32 or 64.
pub fn parse_float(text: impl AsRef<[u8]>, bits: u32) -> Result<f64, NumError<f64>> {
    let text = text.as_ref();
    let error = |reason, value| NumError::new("ParseFloat", text, reason, value);
    if let Some(number) = by_name(text) {
        return Ok(number);
    }
    let number = Literal::read(text)
        .and_then(|literal| literal.value(bits))
        .ok_or_else(|| error(Reason::Syntax, 0.0))?;
    if number.is_infinite() {
        return Err(error(Reason::Range, number));
    }
    Ok(number)
}

/// Infinities with or without a sign, and NaN without.
fn by_name(text: &[u8]) -> Option<f64> {
    if text.eq_ignore_ascii_case(b"nan") {
        return Some(f64::NAN);
    }
    let (negative, name) = split_sign(text);
    let infinite = name.eq_ignore_ascii_case(b"inf") || name.eq_ignore_ascii_case(b"infinity");
    infinite.then_some(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
}

/// The parts of a number as written.
struct Literal {
    negative: bool,
    hex: bool,
    /// All digits of the mantissa, without underscores and the point.
    digits: Vec<u8>,
    /// The number of decimal places.
    places: usize,
    /// Saturated beyond the range of any number.
    exponent: i64,
}

impl Literal {
    fn read(text: &[u8]) -> Option<Self> {
        let (negative, rest) = split_sign(text);
        let (hex, rest) = match rest {
            [b'0', b'x' | b'X', rest @ ..] if !rest.is_empty() => (true, rest),
            all => (false, all),
        };
        let letter = if hex { b'p' } else { b'e' };
        let split = rest.iter().position(|byte| byte.eq_ignore_ascii_case(&letter));
        let (mantissa, exponent) = match split.and_then(|at| rest.split_at_checked(at)) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent.get(1..)?)?),
            // Hexadecimal numbers must have one.
            None if hex => return None,
            None => (rest, 0),
        };
        let mut digits = Vec::with_capacity(mantissa.len());
        let mut point = None;
        for byte in mantissa {
            match byte {
                b'_' => {}
                b'.' if point.is_none() => point = Some(digits.len()),
                b'0'..=b'9' => digits.push(*byte),
                _ if hex && byte.is_ascii_hexdigit() => digits.push(*byte),
                _ => return None,
            }
        }
        if digits.is_empty() || text.contains(&b'_') && !underscores_fit(text) {
            return None;
        }
        Some(Self {
            negative,
            hex,
            places: digits.len() - point.unwrap_or(digits.len()),
            digits,
            exponent,
        })
    }

    /// The nearest number of the type, infinite when it is too large for all.
    fn value(&self, bits: u32) -> Option<f64> {
        let number = if self.hex {
            self.hexadecimal(bits)
        } else {
            let digits = str::from_utf8(&self.digits).ok()?;
            let places = i64::try_from(self.places).ok()?;
            let text = format!("{digits}e{}", self.exponent - places);
            if bits == 32 {
                f64::from(text.parse::<f32>().ok()?)
            } else {
                text.parse().ok()?
            }
        };
        Some(if self.negative { -number } else { number })
    }

    fn hexadecimal(&self, bits: u32) -> f64 {
        let significant = self.digits.iter().skip_while(|digit| **digit == b'0');
        let mut mantissa = 0_u64;
        let mut exponent = self.exponent.saturating_sub_unsigned(4 * self.places as u64);
        for digit in significant {
            let digit = char::from(*digit).to_digit(16).unwrap_or(0);
            if mantissa >> 60 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
            } else {
                // Of the digits beyond 64 bits only whether one is not zero matters.
                mantissa |= u64::from(digit != 0);
                exponent += 4;
            }
        }
        // Precision, and the exponents of the lowest bit of subnormal and of the largest numbers.
        let (precision, lowest, highest) = if bits == 32 { (24, -149, 104) } else { (53, -1074, 971) };
        let used = i64::from(64 - mantissa.leading_zeros());
        let bottom = (exponent + used - precision).max(lowest);
        let rounded = match bottom - exponent {
            drop @ 1..64 => {
                let half = 1_u64 << (drop - 1);
                let (kept, rest) = (mantissa >> drop, mantissa & (2 * half - 1));
                kept + u64::from(rest > half || rest == half && kept % 2 == 1)
            }
            64 => u64::from(mantissa > 1 << 63),
            65.. => 0,
            more => mantissa << -more,
        };
        if rounded == 0 {
            return 0.0;
        }
        if bottom > highest || bottom == highest && rounded >> precision != 0 {
            return f64::INFINITY;
        }
        // Both factors are exact, and so is the product: it has been rounded already.
        let (half, rest) = (bottom / 2, bottom - bottom / 2);
        rounded as f64 * f64::powi(2.0, half as i32) * f64::powi(2.0, rest as i32)
    }
}

/// The number after `e` or `p`. Go stops counting where the exponent is beyond all numbers, and so does this.
fn read_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    digits.first().filter(|first| first.is_ascii_digit())?;
    let mut exponent = 0;
    for byte in digits {
        match byte {
            b'0'..=b'9' if exponent < 10_000 => exponent = exponent * 10 + i64::from(byte - b'0'),
            b'0'..=b'9' | b'_' => {}
            _ => return None,
        }
    }
    Some(if negative { -exponent } else { exponent })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_floats_as_go_does() {
        for (text, expected) in [
            ("1", 1.0),
            ("-.5e1", -5.0),
            ("5.", 5.0),
            ("1_23.50_0_0e+1_2", 1.235e14),
            ("1e-400", 0.0),
            ("0e99999999999", 0.0),
            ("0x1p-2", 0.25),
            ("-0x_1.8p+0", -1.5),
            ("0x1.fffffffffffff8p0", 2.0),
            ("0x1.fffffffffffff7ffffffffffp0", 1.999_999_999_999_999_8),
            ("0x1p-1074", 5e-324),
            ("0x1p-1075", 0.0),
            ("0x1.1p-1075", 5e-324),
            ("0x.8p-99999", 0.0),
            ("+Inf", f64::INFINITY),
            ("-infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse_float(text, 64).unwrap(), expected, "{text}");
        }
        assert!(parse_float("nAn", 64).unwrap().is_nan());
        assert_eq!(parse_float("0.1", 32).unwrap(), f64::from(0.1_f32));
        assert_eq!(parse_float("0x1.ffffffp127", 32).unwrap_err().reason, Reason::Range);
    }

    #[test]
    fn refuses_floats_as_go_does() {
        for text in [
            "", ".", "e1", "1e", "1e+", "+nan", "infin", "0x1", "0xp1", "1__0", "1_", "_1", "1e_1", "1.2.3", " 1",
        ] {
            let error = parse_float(text, 64).unwrap_err();
            assert_eq!((error.reason, error.value), (Reason::Syntax, 0.0), "{text}");
        }
        let error = parse_float("-1e400", 64).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"strconv.ParseFloat: parsing "-1e400": value out of range"#
        );
        assert_eq!(error.value, f64::NEG_INFINITY);
    }
}
