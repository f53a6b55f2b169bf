//! Helm's functions over durations.

use bumpwright_gostd::{Duration, format_float, parse_float, quote_bytes};
use bumpwright_sprig::{DURATION, duration_value};
use bumpwright_template::{ANY, Args, FLOAT64, Failure, Function, INT64, Value};
use thiserror::Error;

/// Why a value is not a duration, in Helm's words.
#[derive(Clone, Debug, PartialEq, Error)]
enum NoDuration {
    #[error("invalid duration")]
    Nil,
    #[error("empty duration")]
    Empty,
    /// A text that is neither a duration nor a number.
    #[error("could not parse duration {}", quote_bytes(.0))]
    Text(Vec<u8>),
    #[error("unsupported duration type {0}")]
    Type(String),
    /// So many seconds do not fit.
    #[error("duration seconds overflow: {0}")]
    Overflow(String),
    #[error("invalid duration seconds: {0}")]
    NotFinite(String),
}

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;

/// The functions of this file.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("durationDays", &[&ANY], &FLOAT64, |_, args| {
        float(args, HOUR, 24.0, 1.0)
    }),
    Function::new("durationHours", &[&ANY], &FLOAT64, |_, args| {
        float(args, HOUR, 1.0, 1.0)
    }),
    Function::new("durationMicroseconds", &[&ANY], &INT64, |_, args| whole(args, 1_000)),
    Function::new("durationMilliseconds", &[&ANY], &INT64, |_, args| {
        whole(args, 1_000_000)
    }),
    Function::new("durationMinutes", &[&ANY], &FLOAT64, |_, args| {
        float(args, 60 * SECOND, 1.0, 1.0)
    }),
    Function::new("durationNanoseconds", &[&ANY], &INT64, |_, args| whole(args, 1)),
    Function::new("durationRoundTo", &[&ANY, &ANY], &DURATION, |_, args| {
        to_multiple(args, Duration::round)
    }),
    Function::new("durationSeconds", &[&ANY], &FLOAT64, |_, args| {
        float(args, SECOND, 1.0, 1.0)
    }),
    Function::new("durationTruncateTo", &[&ANY, &ANY], &DURATION, |_, args| {
        to_multiple(args, Duration::truncate)
    }),
    Function::new("durationWeeks", &[&ANY], &FLOAT64, |_, args| {
        float(args, HOUR, 24.0, 7.0)
    }),
    Function::new("mustToDuration", &[&ANY], &DURATION, |_, args| {
        duration(args.value(0)?).map(duration_value).map_err(Failure::new)
    }),
];

/// As in Helm: without `must`, a text that is not a duration is 0.
fn lenient(args: Args<'_>) -> Result<Duration, Failure> {
    Ok(duration(args.value(0)?).unwrap_or_default())
}

fn float(args: Args<'_>, unit: i64, by: f64, again: f64) -> Result<Value, Failure> {
    Ok(Value::float(lenient(args)?.in_units(unit) / by / again))
}

fn whole(args: Args<'_>, unit: i64) -> Result<Value, Failure> {
    Ok(Value::int64(lenient(args)?.0 / unit))
}

fn to_multiple(args: Args<'_>, change: fn(Duration, Duration) -> Duration) -> Result<Value, Failure> {
    Ok(duration_value(match duration(args.value(0)?) {
        Err(_) => Duration::default(),
        Ok(value) => match duration(args.value(1)?) {
            Ok(of) => change(value, of),
            Err(_) => value,
        },
    }))
}

/// The duration that a value is: one of its own type, a text, or a number of seconds.
fn duration(value: &Value) -> Result<Duration, NoDuration> {
    match value {
        Value::Nil => Err(NoDuration::Nil),
        Value::String(text) => of_text(text),
        value => match value.bare() {
            Value::Int(_, number) if value.type_of() == Some(DURATION) => Ok(Duration(*number)),
            Value::Int(_, seconds) => seconds
                .checked_mul(SECOND)
                .map(Duration)
                .ok_or_else(|| NoDuration::Overflow(seconds.to_string())),
            Value::Uint(_, seconds) => i64::try_from(*seconds)
                .ok()
                .and_then(|seconds| seconds.checked_mul(SECOND))
                .map(Duration)
                .ok_or_else(|| NoDuration::Overflow(seconds.to_string())),
            Value::Float(_, seconds) => of_float(*seconds),
            _ => {
                let ty = value.type_of().map_or_else(|| "<nil>".to_owned(), |ty| ty.to_string());
                Err(NoDuration::Type(ty))
            }
        },
    }
}

fn of_text(text: &[u8]) -> Result<Duration, NoDuration> {
    let trimmed = text.trim_ascii();
    if trimmed.is_empty() {
        return Err(NoDuration::Empty);
    }
    if let Ok(duration) = Duration::parse(trimmed) {
        return Ok(duration);
    }
    match parse_float(trimmed, 64) {
        Ok(seconds) => of_float(seconds),
        Err(_) => Err(NoDuration::Text(text.to_vec())),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // checked before
fn of_float(seconds: f64) -> Result<Duration, NoDuration> {
    let spelled = || format_float(seconds, b'g', None, 64);
    if !seconds.is_finite() {
        return Err(NoDuration::NotFinite(spelled()));
    }
    let nanoseconds = seconds * SECOND as f64;
    if nanoseconds.abs() < i64::MAX as f64 {
        Ok(Duration(nanoseconds as i64))
    } else {
        Err(NoDuration::Overflow(spelled()))
    }
}
