//! Numbers of JSON, compared without rounding, and their text in English.

use bumpwright_gostd::format_float;
use bumpwright_json::Float;
use bumpwright_text::Parts;
use serde_json::Number;
use std::cmp::Ordering;

/// A decimal number: 0.DIGITS times ten to `point`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Without zeros at both ends; none for zero.
    digits: Vec<u8>,
    point: i64,
    /// For texts.
    nearest: f64,
}

/// As many digits fit a divisor, with room for one more.
const MAX_DIVISOR_DIGITS: i64 = 36;

impl Decimal {
    pub(super) fn of(number: &Number) -> Self {
        let text = number.to_string();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (is_negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole
            .bytes()
            .chain(fraction.bytes())
            .map(|byte| byte.saturating_sub(b'0'))
            .collect();
        let zeros = all.iter().take_while(|digit| **digit == 0).count();
        let end = all.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
        let digits = all.part(zeros.min(end)..end).to_vec();
        let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap_or(0);
        let length = |part: usize| i64::try_from(part).unwrap_or(i64::MAX);
        Self {
            is_negative: is_negative && !digits.is_empty(),
            point: length(whole.len()) - length(zeros) + exponent,
            digits,
            nearest: number.float64(),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// The place of the last digit: the exponent of ten that it counts.
    fn last_place(&self) -> i64 {
        self.point - i64::try_from(self.digits.len()).unwrap_or(i64::MAX)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_zero() || self.last_place() >= 0
    }

    /// Its value, when it is whole and fits.
    pub(super) fn whole(&self) -> Option<i64> {
        let zeros = u32::try_from(self.last_place()).ok().or(self.is_zero().then_some(0))?;
        let mut digits = self.digits.iter();
        let number = digits.try_fold(0_i64, |sum, digit| sum.checked_mul(10)?.checked_add(i64::from(*digit)))?;
        let number = number.checked_mul(10_i64.checked_pow(zeros)?)?;
        Some(if self.is_negative { -number } else { number })
    }

    /// Whether it is a whole multiple of another number, which is not zero.
    pub(super) fn is_multiple_of(&self, of: &Self) -> bool {
        if self.is_zero() {
            return true;
        }
        let places = self.last_place().min(of.last_place());
        let (zeros, divisor_zeros) = (self.last_place() - places, of.last_place() - places);
        let length = |number: &Self| i64::try_from(number.digits.len()).unwrap_or(i64::MAX);
        if length(of) + divisor_zeros > MAX_DIVISOR_DIGITS {
            // Only a number that is not smaller can be a multiple.
            return self.point >= of.point && (self.nearest / of.nearest).fract() == 0.0;
        }
        let padded = |number: &Self, zeros: i64| number.digits.clone().into_iter().chain((0..zeros).map(|_| 0));
        let divisor = padded(of, divisor_zeros).fold(0_u128, |sum, digit| sum * 10 + u128::from(digit));
        divisor != 0 && padded(self, zeros).fold(0, |rest, digit| (rest * 10 + u128::from(digit)) % divisor) == 0
    }

    /// As the library's printer for English shows a float: three digits in a group, or a power of ten.
    pub(super) fn text(&self) -> String {
        let spelled = format_float(self.nearest, b'g', None, 64);
        let Some((mantissa, exponent)) = spelled.split_once('e') else {
            let (whole, fraction) = spelled.split_once('.').unwrap_or((&spelled, ""));
            let point = if fraction.is_empty() { "" } else { "." };
            return format!("{}{point}{fraction}", grouped(whole));
        };
        let (sign, digits) = match exponent.trim_start_matches('+').strip_prefix('-') {
            Some(digits) => ("⁻", digits),
            None => ("", exponent.trim_start_matches('+')),
        };
        let raised: String = digits.chars().filter_map(raised).collect();
        format!("{mantissa}×10{sign}{raised}")
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let size = |number: &Self| (!number.is_zero()).then(|| (number.point, number.digits.clone()));
        Some(match (self.is_negative, other.is_negative) {
            (false, false) => size(self).cmp(&size(other)),
            (true, true) => size(other).cmp(&size(self)),
            (is_negative, _) => {
                if is_negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        })
    }
}

fn raised(digit: char) -> Option<char> {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digits.get(usize::try_from(digit.to_digit(10)?).ok()?).copied()
}

/// A whole number with a comma after each group of three digits.
pub(super) fn grouped(number: &str) -> String {
    let digits = number.trim_start_matches('-').len();
    let mut text = String::new();
    for (index, ch) in number.chars().enumerate() {
        let left = number.len() - index;
        if index > number.len() - digits && left.is_multiple_of(3) {
            text.push(',');
        }
        text.push(ch);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Decimal, grouped};

    fn decimal(text: &str) -> Decimal {
        let number: serde_json::Number = serde_json::from_str(text).unwrap();
        Decimal::of(&number)
    }

    #[test]
    fn numbers_compare_without_rounding() {
        for (small, large) in [
            ("-2", "-1"),
            ("-1", "0"),
            ("0", "1e-7"),
            ("9", "10"),
            ("0.3", "0.31"),
            ("1e20", "1e21"),
        ] {
            assert!(decimal(small) < decimal(large), "{small} {large}");
            assert!(decimal(large) > decimal(small), "{small} {large}");
        }
        assert!(
            decimal("1.0") == decimal("1.0") && decimal("1.50") >= decimal("1.5") && decimal("1.50") <= decimal("1.5")
        );
    }

    #[test]
    fn multiples_count_in_decimals() {
        for (number, of, expected) in [
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("1e21", "3", false),
            ("9", "3", true),
            ("0", "7", true),
            ("4.02", "0.01", true),
            ("1", "1e40", false),
        ] {
            assert_eq!(decimal(number).is_multiple_of(&decimal(of)), expected, "{number} {of}");
        }
    }

    #[test]
    fn whole_numbers_and_texts() {
        for (text, whole, shown) in [
            ("12", Some(12), "12"),
            ("1200.0", Some(1200), "1,200"),
            ("-3", Some(-3), "-3"),
            ("1.5", None, "1.5"),
            ("12345.75", None, "12,345.75"),
            ("1e6", Some(1_000_000), "1×10⁰⁶"),
            ("0.00001", None, "1×10⁻⁰⁵"),
        ] {
            assert_eq!(decimal(text).whole(), whole, "{text}");
            assert_eq!(decimal(text).text(), shown);
        }
        assert_eq!(grouped("-1234567"), "-1,234,567");
        assert_eq!(grouped("123"), "123");
    }
}
