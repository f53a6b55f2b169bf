//! Formats floating-point numbers as Go does (`strconv.FormatFloat`).

use super::integer::append_uint;
use bumpwright_text::Parts;
use std::fmt::{self, Write};

/// `strconv.FormatFloat`: `format` is one of `b`, `e`, `E`, `f`, `g`, `G`, `x`, `X`; no `precision` is Go's -1, the
/// fewest digits that are read back as the same number; `bits` is the size of the type, 32 or 64.
pub fn format_float(number: f64, format: u8, precision: Option<usize>, bits: u32) -> String {
    let mut out = Vec::new();
    append_float(&mut out, number, format, precision, bits);
    ascii(&out)
}

/// Bytes of ASCII as a text.
fn ascii(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// `strconv.AppendFloat`: appends the result of [`format_float`].
pub fn append_float(out: &mut Vec<u8>, number: f64, format: u8, precision: Option<usize>, bits: u32) {
    let number = if bits == 32 { f64::from(number as f32) } else { number };
    if number.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if number.is_infinite() {
        return out.extend_from_slice(if number < 0.0 { b"-Inf" } else { b"+Inf" });
    }
    if !matches!(format, b'b' | b'e' | b'E' | b'f' | b'g' | b'G' | b'x' | b'X') {
        return out.extend([b'%', format]);
    }
    if number.is_sign_negative() {
        out.push(b'-');
    }
    let number = number.abs();
    match (format, precision) {
        (b'b', _) => append_binary(out, number, bits),
        (b'x' | b'X', _) => append_hexadecimal(out, number, format, precision),
        (b'f', Some(precision)) => append_rounded(out, number, precision),
        (b'f', None) => {
            let digits = Decimal::shortest(number, bits);
            let places = digits.len as i32 - digits.point;
            digits.append_plain(out, usize::try_from(places).unwrap_or(0));
        }
        (b'e' | b'E', _) => {
            let digits = match precision {
                Some(precision) => Decimal::rounded(number, precision),
                None => Decimal::shortest(number, bits),
            };
            let places = precision.unwrap_or(digits.len.saturating_sub(1));
            digits.append_scientific(out, places, format);
        }
        _ => append_general(out, number, format, precision, bits),
    }
}

/// No float64 has more significant digits than 767, nor more decimal places than 1074; all further ones are zeros.
const MOST_DIGITS: usize = 767;
const MOST_PLACES: usize = 1074;

/// `f` with a number of decimal places.
fn append_rounded(out: &mut Vec<u8>, number: f64, precision: usize) {
    let places = precision.min(MOST_PLACES);
    // Writing to a Vec does not fail.
    let _ = std::io::Write::write_fmt(out, format_args!("{number:.places$}"));
    out.extend(std::iter::repeat_n(b'0', precision - places));
}

/// `g`: without an exponent, or with one where that is shorter.
fn append_general(out: &mut Vec<u8>, number: f64, format: u8, precision: Option<usize>, bits: u32) {
    let precision = precision.map(|precision| precision.max(1));
    let digits = match precision {
        Some(precision) => Decimal::rounded(number, precision - 1),
        None => Decimal::shortest(number, bits),
    };
    let wanted = precision.unwrap_or(digits.len);
    let length = digits.len as i32;
    let threshold = match precision {
        None => 6,
        Some(precision) if precision > digits.len && length >= digits.point => length,
        Some(precision) => i32::try_from(precision).unwrap_or(i32::MAX),
    };
    let exponent = digits.point - 1;
    if exponent < -4 || exponent >= threshold {
        let places = wanted.min(digits.len).saturating_sub(1);
        let letter = if format == b'G' { b'E' } else { b'e' };
        return digits.append_scientific(out, places, letter);
    }
    let shown = match usize::try_from(digits.point) {
        Ok(point) if wanted <= point => wanted,
        _ => digits.len,
    };
    let places = shown as i32 - digits.point;
    digits.append_plain(out, usize::try_from(places).unwrap_or(0));
}

/// The decimal digits of a number `0.DIGITS * 10^point`, without trailing zeros; none for zero.
struct Decimal {
    bytes: [u8; MOST_DIGITS],
    len: usize,
    point: i32,
}

impl Decimal {
    /// The fewest digits that distinguish the number from its neighbours.
    fn shortest(number: f64, bits: u32) -> Self {
        let digits = if bits == 32 {
            Self::read(format_args!("{:e}", number as f32))
        } else {
            Self::read(format_args!("{number:e}"))
        };
        // Of two texts of that length that are equally close, Go takes the even one, unless it is a float32 that is a
        // power of two: then the upper one, like Rust. At powers of two the closest text may also be the neighbour's.
        if bits == 32 && (number as f32).to_bits().trailing_zeros() >= 23 {
            return digits;
        }
        let even = Self::rounded(number, digits.len.saturating_sub(1));
        if even.len == digits.len && even.bytes != digits.bytes && even.reads_back(number, bits) {
            return even;
        }
        digits
    }

    fn reads_back(&self, number: f64, bits: u32) -> bool {
        let mut text = Vec::new();
        self.append_scientific(&mut text, self.len.saturating_sub(1), b'e');
        let text = ascii(&text);
        if bits == 32 {
            text.parse() == Ok(number as f32)
        } else {
            text.parse() == Ok(number)
        }
    }

    /// One digit and a number of decimal places, rounded to even.
    fn rounded(number: f64, more: usize) -> Self {
        let more = more.min(MOST_DIGITS - 1);
        Self::read(format_args!("{number:.more$e}"))
    }

    /// Parses Rust's `d.ddde-dd`.
    fn read(number: fmt::Arguments<'_>) -> Self {
        let mut reading = Reading {
            bytes: [b'0'; MOST_DIGITS],
            len: 0,
            exponent: 0,
            exponent_sign: None,
        };
        // There is room for all requested digits.
        let _ = reading.write_fmt(number);
        let Reading {
            bytes, len, exponent, ..
        } = reading;
        let digits = bytes.part(..len);
        let len = digits
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(0, |last| last + 1);
        Self {
            bytes,
            len,
            point: if len == 0 { 0 } else { exponent + 1 },
        }
    }

    /// The digit at `index`, zero after the last.
    fn digit(&self, index: usize) -> u8 {
        self.bytes.get(index).copied().unwrap_or(b'0')
    }

    /// `ddd.ddd` with a number of decimal places.
    fn append_plain(&self, out: &mut Vec<u8>, places: usize) {
        let whole = usize::try_from(self.point).unwrap_or(0);
        if whole == 0 {
            out.push(b'0');
        }
        out.extend((0..whole).map(|index| self.digit(index)));
        if places > 0 {
            out.push(b'.');
            let gap = usize::try_from(-self.point).unwrap_or(0).min(places);
            out.extend(std::iter::repeat_n(b'0', gap));
            out.extend((0..places - gap).map(|index| self.digit(whole + index)));
        }
    }

    /// `d.ddde±dd` with a number of decimal places.
    fn append_scientific(&self, out: &mut Vec<u8>, places: usize, letter: u8) {
        out.push(self.digit(0));
        if places > 0 {
            out.push(b'.');
            out.extend((1..=places).map(|index| self.digit(index)));
        }
        out.push(letter);
        append_exponent(out, if self.len == 0 { 0 } else { self.point - 1 });
    }
}

/// The part of `d.ddde-dd` parsed so far.
struct Reading {
    bytes: [u8; MOST_DIGITS],
    len: usize,
    exponent: i32,
    /// None before the `e`.
    exponent_sign: Option<i32>,
}

impl Write for Reading {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for byte in part.bytes() {
            match (byte, self.exponent_sign) {
                (b'e', _) => self.exponent_sign = Some(1),
                (b'-', Some(_)) => self.exponent_sign = Some(-1),
                (b'0'..=b'9', Some(sign)) => self.exponent = self.exponent * 10 + sign * i32::from(byte - b'0'),
                (b'0'..=b'9', None) => {
                    *self.bytes.get_mut(self.len).ok_or(fmt::Error)? = byte;
                    self.len += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// `±dd`, with more digits where needed.
fn append_exponent(out: &mut Vec<u8>, exponent: i32) {
    out.push(if exponent < 0 { b'-' } else { b'+' });
    if exponent.unsigned_abs() < 10 {
        out.push(b'0');
    }
    append_uint(out, u64::from(exponent.unsigned_abs()), 10);
}

/// The mantissa with its leading bit, and the exponent of its lowest bit.
fn parts(number: f64, bits: u32) -> (u64, i32) {
    let (raw, mantissa_bits, bias) = if bits == 32 {
        (u64::from((number as f32).to_bits()), 23, 127)
    } else {
        (number.to_bits(), 52, 1023)
    };
    let leading = 1_u64 << mantissa_bits;
    let mantissa = raw & (leading - 1);
    // The exponent bits fit: the sign has been removed.
    match (raw >> mantissa_bits) as i32 {
        0 => (mantissa, 1 - bias - mantissa_bits),
        exponent => (mantissa | leading, exponent - bias - mantissa_bits),
    }
}

/// `b`: the mantissa in decimal, and the exponent of two.
fn append_binary(out: &mut Vec<u8>, number: f64, bits: u32) {
    let (mantissa, exponent) = parts(number, bits);
    append_uint(out, mantissa, 10);
    out.push(b'p');
    out.push(if exponent < 0 { b'-' } else { b'+' });
    append_uint(out, u64::from(exponent.unsigned_abs()), 10);
}

/// `x`: `0x1.ffp±dd`, rounded to even where there is a precision.
fn append_hexadecimal(out: &mut Vec<u8>, number: f64, letter: u8, precision: Option<usize>) {
    // All numbers of 32 bits are normal ones of 64, and print the same.
    let (mantissa, exponent) = parts(number, 64);
    // The leading bit goes to bit 60: 15 hexadecimal digits follow it.
    let shift = mantissa.leading_zeros().saturating_sub(3);
    let mut mantissa = mantissa.checked_shl(shift).unwrap_or(0);
    let mut exponent = if mantissa == 0 { 0 } else { exponent + 60 - shift as i32 };
    if let Some(digits @ 0..15) = precision {
        let dropped = 60 - 4 * digits as u32;
        let half = 1_u64 << (dropped - 1);
        let rest = mantissa & (2 * half - 1);
        let mut rounded = mantissa >> dropped;
        if rest > half || rest == half && rounded % 2 == 1 {
            rounded += 1;
        }
        mantissa = rounded << dropped;
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    out.extend([b'0', letter, b'0' + (mantissa >> 60) as u8]);
    let first = if letter == b'X' { b'A' } else { b'a' };
    let mut fraction = mantissa << 4;
    let places = precision.unwrap_or(16 - (fraction.trailing_zeros() / 4) as usize);
    if places > 0 {
        out.push(b'.');
    }
    for _ in 0..places {
        out.push(match (fraction >> 60) as u8 {
            digit @ 0..10 => b'0' + digit,
            digit => first - 10 + digit,
        });
        fraction <<= 4;
    }
    out.push(if letter == b'X' { b'P' } else { b'p' });
    append_exponent(out, exponent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_floats_as_go_does() {
        for (number, format, precision, bits, expected) in [
            (0.0, b'e', Some(2), 64, "0.00e+00"),
            (-0.0, b'g', None, 64, "-0"),
            (1e21, b'g', None, 64, "1e+21"),
            (123456.0, b'g', None, 64, "123456"),
            (1234567.0, b'g', None, 64, "1.234567e+06"),
            (0.0001, b'g', None, 64, "0.0001"),
            (0.00001, b'G', None, 64, "1E-05"),
            (100000.0, b'g', Some(10), 64, "100000"),
            (1e20, b'g', Some(30), 64, "100000000000000000000"),
            (123.456, b'g', Some(2), 64, "1.2e+02"),
            (2.5, b'f', Some(0), 64, "2"),
            (0.5, b'f', Some(0), 64, "0"),
            (1.5, b'e', Some(0), 64, "2e+00"),
            (1e23, b'f', None, 64, "100000000000000000000000"),
            (1116353.25, b'g', None, 32, "1.1163532e+06"),
            (0.000244140625, b'g', None, 32, "0.00024414063"),
            (0.1, b'f', Some(20), 64, "0.10000000000000000555"),
            (0.1, b'g', None, 32, "0.1"),
            (f64::from(0.1_f32), b'g', None, 64, "0.10000000149011612"),
            (5e-324, b'e', None, 64, "5e-324"),
            (5e-324, b'b', None, 64, "1p-1074"),
            (1.0, b'b', None, 32, "8388608p-23"),
            (1.0, b'x', None, 64, "0x1p+00"),
            (5e-324, b'x', None, 64, "0x1p-1074"),
            (-255.5, b'X', None, 64, "-0X1.FFP+07"),
            (1.9999, b'x', Some(1), 64, "0x1.0p+01"),
            (0.0, b'x', Some(3), 64, "0x0.000p+00"),
            (f64::INFINITY, b'f', Some(1), 64, "+Inf"),
            (1.0, b'z', None, 64, "%z"),
        ] {
            let got = format_float(number, format, precision, bits);
            assert_eq!(got, expected, "{number} {}", char::from(format));
        }
    }

    #[test]
    fn knows_no_limit_of_places() {
        let long = format_float(5e-324, b'f', Some(70_000), 64);
        assert_eq!(long.len(), 70_002);
        assert!(long.trim_end_matches('0').ends_with("65625"));
        assert_eq!(format_float(0.1, b'e', Some(70_000), 64).len(), 70_006);
    }
}
