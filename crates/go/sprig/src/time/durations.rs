//! `time.Duration`, `time.Month` and `time.Weekday` as templates see them.

use bumpwright_gostd::{Duration, MONTHS, WEEKDAYS};
use bumpwright_template::{Args, FLOAT64, Failure, INT, INT64, Method, NamedType, STRING, Type, Value};

pub static DURATION: Type = Type::Named(&DURATION_TYPE);
pub(crate) static MONTH: Type = Type::Named(&MONTH_TYPE);
pub(crate) static WEEKDAY: Type = Type::Named(&WEEKDAY_TYPE);

static DURATION_TYPE: NamedType = NamedType {
    name: "time.Duration",
    underlying: &INT64,
    methods: &[
        Method::new("Abs", &[], &DURATION, |_, args| {
            Ok(duration_value(Duration(receiver(args)?.0.saturating_abs())))
        }),
        Method::new("Hours", &[], &FLOAT64, |_, args| {
            Ok(Value::float(receiver(args)?.in_units(3_600_000_000_000)))
        }),
        Method::new("Microseconds", &[], &INT64, |_, args| {
            Ok(Value::int64(receiver(args)?.0 / 1_000))
        }),
        Method::new("Milliseconds", &[], &INT64, |_, args| {
            Ok(Value::int64(receiver(args)?.0 / 1_000_000))
        }),
        Method::new("Minutes", &[], &FLOAT64, |_, args| {
            Ok(Value::float(receiver(args)?.in_units(60_000_000_000)))
        }),
        Method::new("Nanoseconds", &[], &INT64, |_, args| {
            Ok(Value::int64(receiver(args)?.0))
        }),
        Method::new("Round", &[&DURATION], &DURATION, |_, args| {
            Ok(duration_value(receiver(args)?.round(Duration(args.int(1)?))))
        }),
        Method::new("Seconds", &[], &FLOAT64, |_, args| {
            Ok(Value::float(receiver(args)?.in_units(1_000_000_000)))
        }),
        Method::new("String", &[], &STRING, |_, args| {
            Ok(Value::text(receiver(args)?.to_string()))
        }),
        Method::new("Truncate", &[&DURATION], &DURATION, |_, args| {
            Ok(duration_value(receiver(args)?.truncate(Duration(args.int(1)?))))
        }),
    ],
};

static MONTH_TYPE: NamedType = NamedType {
    name: "time.Month",
    underlying: &INT,
    methods: &[Method::new("String", &[], &STRING, |_, args| {
        Ok(named(&MONTHS, args.int(0)?, 1, "Month"))
    })],
};

static WEEKDAY_TYPE: NamedType = NamedType {
    name: "time.Weekday",
    underlying: &INT,
    methods: &[Method::new("String", &[], &STRING, |_, args| {
        Ok(named(&WEEKDAYS, args.int(0)?, 0, "Weekday"))
    })],
};

pub fn duration_value(duration: Duration) -> Value {
    Value::named(&DURATION_TYPE, Value::int64(duration.0))
}

pub(crate) fn month_value(month: u8) -> Value {
    Value::named(&MONTH_TYPE, Value::int(month.into()))
}

pub(crate) fn weekday_value(weekday: u8) -> Value {
    Value::named(&WEEKDAY_TYPE, Value::int(weekday.into()))
}

fn receiver(args: Args<'_>) -> Result<Duration, Failure> {
    args.int(0).map(Duration)
}

/// The name of a number, which counts from `first`. Go prints a number without a name as unsigned.
fn named(names: &[&str], number: i64, first: i64, what: &str) -> Value {
    let index = usize::try_from(number.wrapping_sub(first)).ok();
    match index.and_then(|index| names.get(index)) {
        Some(name) => Value::text(*name),
        None => Value::text(format!("%!{what}({})", number.cast_unsigned())),
    }
}
