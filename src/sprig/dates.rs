//! Dates and durations.
//!
//! The functions that show a date in a zone are not in the hermetic map; methods of `time.Time` do that.

use super::time_values::{TIME, time_argument, time_of, time_value};
use crate::{
    gostd::{Duration, Time, parse_int},
    template::{ANY, Args, Failure, Function, Host, IntKind, STRING, Value},
};

/// The functions of this family.
pub(super) static FUNCTIONS: &[Function] = &[
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

fn now(host: &Host<'_>) -> Time {
    let (seconds, nanoseconds) = host.world().now();
    Time::unix(seconds, nanoseconds)
}

fn ago(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let now = now(host);
    let date = args.value(0)?;
    let since = match date {
        Value::Int(IntKind::Int | IntKind::Int64, seconds) => now.since(&Time::unix(*seconds, 0)),
        // What is no date happened just now.
        date => time_of(date).map_or(Duration(0), |time| now.since(&time)),
    };
    Ok(Value::text(since.round(Duration::SECOND).to_string()))
}

fn duration(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let seconds = match args.value(0)? {
        // Of a number that does not fit, Go gives the nearest one.
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
    Ok(super::time_values::time_like(&time_argument(args, 1)?.add(by), date))
}

fn must_to_date(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let time = Time::parse(args.text(0)?, args.text(1)?).map_err(Failure::new)?;
    Ok(time_value(&time))
}

fn to_date(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let time = Time::parse(args.text(0)?, args.text(1)?).unwrap_or_default();
    Ok(time_value(&time))
}
