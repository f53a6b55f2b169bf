//! Converts any value to a number, as Sprig's arithmetic does: what is not a number counts
//! as zero (`spf13/cast` v1.8.0).

use bumpwright_gostd as gostd;
use bumpwright_template::{NamedType, UintKind, Value};
use bumpwright_text::Parts;

/// As an `int64`, and as an `int`, which has the same bits.
pub(crate) fn to_int(value: &Value) -> i64 {
    match pointed_at(value) {
        Value::Int(_, number) => *number,
        Value::Uint(kind, number) if *kind != UintKind::Uintptr => number.cast_signed(),
        Value::Float(_, number) => truncated(*number),
        Value::Bool(truth) => (*truth).into(),
        Value::String(text) => gostd::parse_int(without_zero_decimals(text), 0, 64).unwrap_or(0),
        Value::Named(of, number) => calendar_number(of, number),
        _ => 0,
    }
}

pub(crate) fn to_float(value: &Value) -> f64 {
    match pointed_at(value) {
        Value::Int(_, number) => *number as f64,
        Value::Uint(kind, number) if *kind != UintKind::Uintptr => *number as f64,
        Value::Float(_, number) => *number,
        Value::Bool(truth) => (*truth).into(),
        Value::String(text) => gostd::parse_float(&**text, 64).unwrap_or(0.0),
        Value::Named(of, number) => calendar_number(of, number) as f64,
        _ => 0.0,
    }
}

/// Go's `int64(number)` as compiled for amd64: all that does not fit is the smallest number.
pub(crate) fn truncated(number: f64) -> i64 {
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    if (-ABOVE..ABOVE).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

fn pointed_at(mut value: &Value) -> &Value {
    while let Value::Pointer(pointer) = value
        && let Some(target) = &pointer.target
    {
        value = target;
    }
    value
}

/// Of the named types only these two are numbers to Sprig; a `time.Duration` is not.
fn calendar_number(of: &NamedType, number: &Value) -> i64 {
    match number {
        Value::Int(_, number) if matches!(of.name, "time.Month" | "time.Weekday") => *number,
        _ => 0,
    }
}

/// The text before the last point that only zeros follow, at least one of them, and points after those: `12` of
/// `12.0`, but also of `12.0.`.
fn without_zero_decimals(text: &[u8]) -> &[u8] {
    let mut zero_seen = false;
    for (index, byte) in text.iter().enumerate().rev() {
        match byte {
            b'0' => zero_seen = true,
            b'.' if zero_seen => return text.part(..index),
            b'.' => {}
            _ => break,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use bumpwright_template::{INT64, Pointer};

    #[test]
    fn zero_decimals_are_cut_once() {
        for (text, expected) in [
            ("12.0", "12"),
            ("12.000", "12"),
            ("12.0.0", "12.0"),
            ("120", "120"),
            ("12.", "12."),
            ("12.50", "12.50"),
            (".0", ""),
            ("0.0..", "0"),
        ] {
            let got = without_zero_decimals(text.as_bytes());
            assert_eq!(String::from_utf8_lossy(got), expected, "{text}");
        }
    }

    #[test]
    fn floats_that_do_not_fit_are_the_smallest_number() {
        for (number, expected) in [
            (3.99, 3),
            (-3.99, -3),
            (9_223_372_036_854_774_784.0, 9_223_372_036_854_774_784),
            (9_223_372_036_854_775_808.0, i64::MIN),
            (f64::NAN, i64::MIN),
            (f64::NEG_INFINITY, i64::MIN),
        ] {
            assert_eq!(truncated(number), expected, "{number}");
        }
    }

    #[test]
    fn names_hide_numbers_but_pointers_do_not() {
        static DURATION: NamedType = NamedType {
            name: "time.Duration",
            underlying: &INT64,
            methods: &[],
        };
        static MONTH: NamedType = NamedType {
            name: "time.Month",
            underlying: &INT64,
            methods: &[],
        };
        let named = |of| Value::named(of, Value::int64(5));
        assert_eq!(to_int(&named(&DURATION)), 0);
        assert_eq!(to_int(&named(&MONTH)), 5);
        assert_eq!(to_float(&Value::Pointer(Pointer::new(&INT64, Value::int64(5)))), 5.0);
    }
}
