//! Go's `time.Duration`: nanoseconds in 64 bits, written `1h2m3.5s`.

use super::digits::{leading_digit, leading_number};
use super::quote::quote_for_time;
use crate::number::integer::split_sign;
use std::fmt;
use thiserror::Error;

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

impl Duration {
    /// The duration for a timer: a negative one is zero.
    #[must_use]
    pub fn as_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.max(0).unsigned_abs())
    }
}

const SECOND: u64 = 1_000_000_000;
/// The magnitude of the smallest duration; all others are below it.
const MOST: u64 = 1 << 63;

/// Why a text is not a duration, as Go's `ParseDuration` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DurationError {
    /// It is empty, a number in it has no digits, or the sum does not fit.
    #[error("time: invalid duration {}", quote_for_time(.0))]
    Invalid(Vec<u8>),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", quote_for_time(.0))]
    MissingUnit(Vec<u8>),
    /// A number has a unit that does not exist.
    #[error("time: unknown unit {} in duration {}", quote_for_time(.unit), quote_for_time(.text))]
    UnknownUnit { unit: Vec<u8>, text: Vec<u8> },
}

impl Duration {
    pub const SECOND: Self = Self(1_000_000_000);

    /// Parses a duration (Go's `ParseDuration`): `-1.5h`, `1h2m`, `.5us`, `0`.
    ///
    /// # Errors
    /// Go's: `time: invalid duration "x"`, `time: missing unit in duration "1"`.
    pub fn parse(text: &[u8]) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_vec());
        let (negative, mut rest) = split_sign(text);
        if rest == b"0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let quantity = Quantity::read(rest).ok_or_else(invalid)?;
            let end = quantity.rest.iter().position(|byte| matches!(byte, b'.' | b'0'..=b'9'));
            let (name, after) = quantity.rest.split_at(end.unwrap_or(quantity.rest.len()));
            if name.is_empty() {
                return Err(DurationError::MissingUnit(text.to_vec()));
            }
            let unit = unit(name).ok_or_else(|| DurationError::UnknownUnit {
                unit: name.to_vec(),
                text: text.to_vec(),
            })?;
            let nanos = quantity.times(unit).ok_or_else(invalid)?;
            // Both are 2⁶³ at most, and Go lets two such wrap around to 0.
            total = total.wrapping_add(nanos);
            if total > MOST {
                return Err(invalid());
            }
            rest = after;
        }
        if negative {
            Ok(Self(total.cast_signed().wrapping_neg()))
        } else if total == MOST {
            Err(invalid())
        } else {
            Ok(Self(total.cast_signed()))
        }
    }

    /// Rounds to the nearest multiple of `of`, halves away from zero; saturates at the ends of the range.
    pub fn round(self, of: Self) -> Self {
        if of.0 <= 0 {
            return self;
        }
        let over = (self.0 % of.0).unsigned_abs();
        let down = over.saturating_mul(2) < of.0.unsigned_abs();
        let over = over.cast_signed();
        let up = of.0 - over;
        Self(match (self.0 < 0, down) {
            (false, true) => self.0 - over,
            (true, true) => self.0 + over,
            (false, false) => self.0.saturating_add(up),
            (true, false) => self.0.saturating_sub(up),
        })
    }

    /// Truncates toward zero to a multiple of `of`.
    pub fn truncate(self, of: Self) -> Self {
        if of.0 <= 0 {
            return self;
        }
        Self(self.0 - self.0 % of.0)
    }

    /// The number of units of so many nanoseconds, as Go computes it: whole units and the rest apart.
    pub fn in_units(self, nanoseconds: i64) -> f64 {
        let (whole, rest) = (self.0.wrapping_div(nanoseconds), self.0.wrapping_rem(nanoseconds));
        whole as f64 + rest as f64 / nanoseconds as f64
    }
}

impl fmt::Display for Duration {
    /// As Go's `Duration.String`: `1h2m3.5s`, `1.5µs`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        if nanos < SECOND {
            return match nanos {
                0 => f.write_str("0s"),
                1..1_000 => write!(f, "{nanos}ns"),
                1_000..1_000_000 => write!(f, "{}µs", WithFraction(nanos, 3)),
                _ => write!(f, "{}ms", WithFraction(nanos, 6)),
            };
        }
        let minutes = nanos / SECOND / 60;
        if minutes >= 60 {
            write!(f, "{}h", minutes / 60)?;
        }
        if minutes > 0 {
            write!(f, "{}m", minutes % 60)?;
        }
        write!(f, "{}s", WithFraction(nanos % (60 * SECOND), 9))
    }
}

/// A number with a fixed number of decimal places, without trailing zeros.
struct WithFraction(u64, u32);

impl fmt::Display for WithFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u64.pow(self.1);
        let (whole, fraction) = (self.0 / unit, self.0 % unit);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let places = format!("{fraction:0width$}", width = self.1 as usize);
        write!(f, "{whole}.{}", places.trim_end_matches('0'))
    }
}

/// A decimal number, and the rest of the text.
struct Quantity<'t> {
    whole: u64,
    fraction: u64,
    scale: f64,
    rest: &'t [u8],
}

impl<'t> Quantity<'t> {
    /// `None`: no digit, or too large.
    fn read(text: &'t [u8]) -> Option<Self> {
        let (whole, mut rest) = leading_number(text)?;
        let mut digits = rest.len() != text.len();
        let (mut fraction, mut scale) = (0, 1.0);
        if let Some(places) = rest.strip_prefix(b".") {
            (fraction, scale, rest) = leading_fraction(places);
            digits |= rest.len() != places.len();
        }
        digits.then_some(Self {
            whole,
            fraction,
            scale,
            rest,
        })
    }

    /// In nanoseconds, 2⁶³ at most.
    fn times(&self, unit: u64) -> Option<u64> {
        let whole = self.whole.checked_mul(unit).filter(|nanos| *nanos <= MOST)?;
        let fraction = self.fraction as f64 * (unit as f64 / self.scale);
        Some(whole + fraction as u64).filter(|nanos| *nanos <= MOST)
    }
}

/// Decimal places as a number and its divisor; places beyond the capacity are ignored.
fn leading_fraction(text: &[u8]) -> (u64, f64, &[u8]) {
    let (mut number, mut scale, mut full) = (0_u64, 1.0, false);
    let mut rest = text;
    while let Some((digit, after)) = leading_digit(rest) {
        rest = after;
        let next = (number <= (MOST - 1) / 10).then(|| number * 10 + digit);
        match next.filter(|next| !full && *next <= MOST) {
            Some(next) => (number, scale) = (next, scale * 10.0),
            None => full = true,
        }
    }
    (number, scale, rest)
}

fn unit(name: &[u8]) -> Option<u64> {
    Some(match std::str::from_utf8(name).ok()? {
        "ns" => 1,
        // The micro sign, and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_durations() {
        for (text, nanos, written) in [
            ("0", 0, "0s"),
            ("-0", 0, "0s"),
            ("1h2m3.5s", 3_723_500_000_000, "1h2m3.5s"),
            ("-1.5us", -1_500, "-1.5µs"),
            ("1\u{3bc}s.5ns", 1_000, "1µs"),
            ("0.3333333333333333333h", 1_200_000_000_000, "20m0s"),
            ("9007199254.740993ms", 9_007_199_254_740_993, "2501h59m59.254740993s"),
            ("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s"),
            ("9223372036854775808ns9223372036854775808ns", 0, "0s"),
        ] {
            let read = Duration::parse(text.as_bytes()).unwrap();
            assert_eq!((read.0, read.to_string().as_str()), (nanos, written), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_duration() {
        for (text, expected) in [
            ("", "time: invalid duration \"\""),
            ("+", "time: invalid duration \"+\""),
            (".s", "time: invalid duration \".s\""),
            ("3", "time: missing unit in duration \"3\""),
            ("1 h", "time: unknown unit \" h\" in duration \"1 h\""),
            (
                "1d\u{e9}",
                "time: unknown unit \"d\\xc3\\xa9\" in duration \"1d\\xc3\\xa9\"",
            ),
            (
                "9223372036854775808ns",
                "time: invalid duration \"9223372036854775808ns\"",
            ),
            (
                "9223372036854775809ns",
                "time: invalid duration \"9223372036854775809ns\"",
            ),
        ] {
            assert_eq!(Duration::parse(text.as_bytes()).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn rounds_half_away_from_zero() {
        for (nanos, of, rounded, truncated) in [
            (1_500, 1_000, 2_000, 1_000),
            (-1_500, 1_000, -2_000, -1_000),
            (1_499, 1_000, 1_000, 1_000),
            (7, 0, 7, 7),
            (i64::MAX, 1_000, i64::MAX, i64::MAX - 807),
            (i64::MIN, i64::MAX, i64::MIN + 1, i64::MIN + 1),
            (i64::MIN, 3_000, i64::MIN, i64::MIN + 1_808),
        ] {
            assert_eq!(Duration(nanos).round(Duration(of)).0, rounded, "{nanos} {of}");
            assert_eq!(Duration(nanos).truncate(Duration(of)).0, truncated, "{nanos} {of}");
        }
    }
}
