//! Dates and durations.
//!
//! The functions that show a date in a zone are not in the hermetic map; methods of `time.Time` do that.

use super::values::{TIME, time_argument, time_like, time_of, time_value};
use bumpwright_gostd::{Duration, Time, parse_int};
use bumpwright_template::{ANY, Args, Failure, Function, Host, IntKind, STRING, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("ago", &[&ANY], &STRING, ago),
    Function::new("duration", &[&ANY], &STRING, duration),
    Function::new("durationRound", &[&ANY], &STRING, duration_round),
    Function::new("mustDateModify", &[&STRING, &TIME], &TIME, modify),
    Function::new("must_date_modify", &[&STRING, &TIME], &TIME, modify),
    Function::new("mustToDate", &[&STRING, &STRING], &TIME, must_to_date),
    Function::new("toDate", &[&STRING, &STRING], &TIME, to_date),
    Function::new("unixEpoch", &[&TIME], &STRING, |_, args| {
        Ok(Value::text(time_argument(args, 0)?.unix_seconds().to_string()))
    }),
];

pub(crate) fn now(host: &Host<'_>) -> Time {
    let (seconds, nanoseconds) = host.world().now();
    Time::unix(seconds, nanoseconds)
}

fn ago(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let now = now(host);
    let date = args.value(0)?;
    let since = match date {
        Value::Int(IntKind::Int | IntKind::Int64, seconds) => now.since(&Time::unix(*seconds, 0)),
        // Anything but a date counts as the current time.
        date => time_of(date).map_or(Duration(0), |time| now.since(&time)),
    };
    Ok(Value::text(since.round(Duration::SECOND).to_string()))
}

fn duration(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let seconds = match args.value(0)? {
        // For a number that does not fit, Go returns the nearest one.
        Value::String(text) => parse_int(&**text, 10, 64).unwrap_or_else(|error| error.value),
        Value::Int(IntKind::Int64, seconds) => *seconds,
        _ => 0,
    };
    let duration = Duration(seconds.wrapping_mul(Duration::SECOND.0));
    Ok(Value::text(duration.to_string()))
}

fn duration_round(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let duration = match args.value(0)? {
        Value::String(text) => Duration::parse(text).unwrap_or_default(),
        Value::Int(IntKind::Int64, nanoseconds) => Duration(*nanoseconds),
        date => time_of(date).map_or(Duration(0), |time| now(host).since(&time)),
    };
    const HOUR: u64 = 3_600_000_000_000;
    let units = [
        (HOUR * 24 * 365, "y"),
        (HOUR * 24 * 30, "mo"),
        (HOUR * 24, "d"),
        (HOUR, "h"),
        (HOUR / 60, "m"),
        (HOUR / 3_600, "s"),
    ];
    let magnitude = duration.0.unsigned_abs();
    // A unit must be exceeded to be used: 24 hours are not a day.
    let unit = units.iter().find(|(length, _)| magnitude > *length);
    Ok(Value::text(unit.map_or("0s".to_owned(), |(length, name)| {
        format!("{}{name}", magnitude / length)
    })))
}

fn modify(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let by = Duration::parse(args.text(0)?).map_err(Failure::new)?;
    let date = args.value(1)?;
    Ok(time_like(&time_argument(args, 1)?.add(by), date))
}

fn must_to_date(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let time = Time::parse(args.text(0)?, args.text(1)?).map_err(Failure::new)?;
    Ok(time_value(&time))
}

fn to_date(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let time = Time::parse(args.text(0)?, args.text(1)?).unwrap_or_default();
    Ok(time_value(&time))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::testing::call;
    use bumpwright_template::{Args, Failure, Host, Limits, Value, World, find_method};

    fn text(value: Result<Value, Failure>) -> String {
        match value.unwrap().bare() {
            Value::String(text) => text.lossy().into_owned(),
            other => panic!("{other:?}"),
        }
    }

    /// Parses a time with the layout `2006-01-02 15:04:05 -0700`.
    fn time(text: &str) -> Value {
        call("mustToDate", &["2006-01-02 15:04:05 -0700".into(), text.into()]).unwrap()
    }

    #[derive(Debug)]
    struct Nowhere;

    impl World for Nowhere {
        fn now(&self) -> (i64, u32) {
            (0, 0)
        }

        fn random(&self, _: &mut [u8]) {}
    }

    fn method(name: &str, receiver: &Value, arguments: &[Value]) -> Result<Value, Failure> {
        let found = find_method(&receiver.type_of().unwrap(), name, false).unwrap();
        let bumpwright_template::Body::Plain(body) = found.method.function.body else {
            panic!()
        };
        let arguments = [std::slice::from_ref(found.receiver(receiver)?), arguments].concat();
        body(&mut Host::new(Limits::default(), &Nowhere), Args(&arguments))
    }

    #[test]
    fn durations_are_told_in_seconds_and_in_one_unit() {
        for (value, expected) in [
            (Value::text("95"), "1m35s"),
            (Value::text("9223372036854775808"), "-1s"),
            (Value::int64(95), "1m35s"),
            (Value::int(95), "0s"),
        ] {
            assert_eq!(text(call("duration", &[value])), expected);
        }
        for (value, expected) in [("24h", "24h"), ("24h1ns", "1d"), ("-9000h", "1y"), ("61", "0s")] {
            assert_eq!(text(call("durationRound", &[value.into()])), expected);
        }
    }

    #[test]
    fn ago_counts_from_the_clock() {
        // The clock of the tests stands at 1700000000.
        assert_eq!(text(call("ago", &[Value::int(1_699_999_000)])), "16m40s");
        assert_eq!(text(call("ago", &[time("2023-11-14 22:13:19 +0000")])), "1s");
        assert_eq!(text(call("ago", &["yesterday".into()])), "0s");
    }

    #[test]
    fn times_keep_their_zone_when_they_change() {
        let east = time("2024-03-05 01:02:03 +0530");
        let later = call("mustDateModify", &["36h".into(), east.clone()]).unwrap();
        assert_eq!(text(method("String", &later, &[])), "2024-03-06 13:02:03 +0530 +0530");
        let utc = method("UTC", &later, &[]).unwrap();
        assert_eq!(
            text(method("GoString", &utc, &[])),
            "time.Date(2024, time.March, 6, 7, 32, 3, 0, time.UTC)"
        );
        let back = method("In", &utc, &[method("Location", &east, &[]).unwrap()]).unwrap();
        assert_eq!(text(method("String", &back, &[])), "2024-03-06 13:02:03 +0530 +0530");
        let apart = method("Sub", &utc, &[east]).unwrap();
        assert_eq!(text(method("String", &apart, &[])), "36h0m0s");
        assert_eq!(
            text(method("String", &method("Month", &utc, &[]).unwrap(), &[])),
            "March"
        );
    }

    #[test]
    fn what_is_no_date_is_the_first_day_or_an_error() {
        let none = call("toDate", &["2006".into(), "x".into()]).unwrap();
        assert_eq!(text(method("String", &none, &[])), "0001-01-01 00:00:00 +0000 UTC");
        let failure = call("mustToDate", &["2006".into(), "x".into()]).unwrap_err();
        let expected = "parsing time \"x\" as \"2006\": cannot parse \"x\" as \"2006\"";
        assert_eq!(failure, Failure::new(expected));
        assert_eq!(
            method("In", &none, &[Value::Nil]).unwrap_err(),
            Failure::new("time: missing Location in call to Time.In")
        );
    }
}
