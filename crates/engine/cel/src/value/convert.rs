//! Conversions between types, by the functions with the types' names.

use bumpwright_gostd::{
    Duration, RFC_3339, RFC_3339_NANO, Time, Zone, format_float, parse_float, parse_int, parse_uint,
};

use super::arithmetic::TIMESTAMPS;
use super::show::{go_float, show_quoted_type};
use super::{Fault, Value};

/// The target type of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Bool,
    Bytes,
    Double,
    Duration,
    Int,
    String,
    Timestamp,
    Uint,
}

impl Target {
    /// The name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Double => "double",
            Self::Duration => "google.protobuf.Duration",
            Self::Int => "int",
            Self::String => "string",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Uint => "uint",
        }
    }
}

/// Converts a value.
///
/// # Errors
/// When the type does not convert to the target, or the value is out of range.
pub fn convert(value: &Value, target: Target) -> Result<Value, Fault> {
    let converted = match value {
        Value::String(text) => from_text(text, target)?,
        Value::Int(number) => from_int(*number, target)?,
        Value::Uint(number) => from_uint(*number, target)?,
        Value::Double(number) => from_double(*number, target)?,
        _ => from_other(value, target)?,
    };
    converted.ok_or_else(|| {
        let from = show_quoted_type(value);
        Fault::new(format!("type conversion error from '{from}' to '{}'", target.name()))
    })
}

type Converted = Result<Option<Value>, Fault>;

fn from_text(text: &str, target: Target) -> Converted {
    Ok(match target {
        Target::Int => parse_int(text, 10, 64).ok().map(Value::Int),
        Target::Uint => parse_uint(text, 10, 64).ok().map(Value::Uint),
        Target::Double => parse_float(text, 64).ok().map(Value::Double),
        Target::Bool => match text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        Target::Bytes => Some(Value::bytes(text.as_bytes().to_vec())),
        Target::Duration => Duration::parse(text.as_bytes())
            .ok()
            .map(|span| Value::Duration(span.0)),
        Target::Timestamp => match Time::parse(RFC_3339, text.as_bytes()) {
            Ok(time) => Some(timestamp(time)?),
            Err(_) => None,
        },
        Target::String => Some(Value::string(text)),
    })
}

fn timestamp(time: Time) -> Result<Value, Fault> {
    if TIMESTAMPS.contains(&time.unix_seconds()) {
        Ok(Value::Timestamp(time))
    } else {
        Err(Fault::new("timestamp overflow"))
    }
}

fn from_int(number: i64, target: Target) -> Converted {
    Ok(match target {
        Target::Int => Some(Value::Int(number)),
        Target::Uint => {
            let number = u64::try_from(number).map_err(|_| Fault::new("unsigned integer overflow"))?;
            Some(Value::Uint(number))
        }
        Target::Double => Some(Value::Double(number as f64)),
        Target::String => Some(Value::string(&number.to_string())),
        Target::Timestamp if TIMESTAMPS.contains(&number) => {
            Some(Value::Timestamp(Time::unix(number, 0).in_zone(Zone::Utc)))
        }
        Target::Timestamp => return Err(Fault::new("timestamp overflow")),
        Target::Bool | Target::Bytes | Target::Duration => None,
    })
}

fn from_uint(number: u64, target: Target) -> Converted {
    Ok(match target {
        Target::Int => {
            let number = i64::try_from(number).map_err(|_| Fault::new("integer overflow"))?;
            Some(Value::Int(number))
        }
        Target::Uint => Some(Value::Uint(number)),
        Target::Double => Some(Value::Double(number as f64)),
        Target::String => Some(Value::string(&number.to_string())),
        Target::Bool | Target::Bytes | Target::Duration | Target::Timestamp => None,
    })
}

fn from_double(number: f64, target: Target) -> Converted {
    Ok(match target {
        Target::Int if number > i64::MIN as f64 && number < i64::MAX as f64 => Some(Value::Int(number as i64)),
        Target::Int => return Err(Fault::new("integer overflow")),
        Target::Uint if (0.0..18_446_744_073_709_551_616.0).contains(&number) => Some(Value::Uint(number as u64)),
        Target::Uint => return Err(Fault::new("unsigned integer overflow")),
        Target::Double => Some(Value::Double(number)),
        Target::String => Some(Value::string(&go_float(number))),
        Target::Bool | Target::Bytes | Target::Duration | Target::Timestamp => None,
    })
}

fn from_other(value: &Value, target: Target) -> Converted {
    Ok(match (value, target) {
        (Value::Bool(_), Target::Bool)
        | (Value::Bytes(_), Target::Bytes)
        | (Value::Duration(_), Target::Duration)
        | (Value::Timestamp(_), Target::Timestamp) => Some(value.clone()),
        (Value::Bool(value), Target::String) => Some(Value::string(if *value { "true" } else { "false" })),
        (Value::Null, Target::String) => Some(Value::string("null")),
        (Value::Bytes(bytes), Target::String) => match std::str::from_utf8(bytes) {
            Ok(text) => Some(Value::string(text)),
            Err(_) => return Err(Fault::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        (Value::Duration(nanoseconds), Target::Int) => Some(Value::Int(*nanoseconds)),
        (Value::Duration(nanoseconds), Target::String) => Some(Value::string(&seconds(*nanoseconds))),
        (Value::Timestamp(time), Target::Int) => Some(Value::Int(time.unix_seconds())),
        (Value::Timestamp(time), Target::String) => Some(Value::string(&moment(time))),
        (Value::Type(name), Target::String) => Some(Value::string(name)),
        _ => None,
    })
}

/// A duration in seconds: `1.5s`.
pub fn seconds(nanoseconds: i64) -> String {
    let seconds = Duration(nanoseconds).in_units(1_000_000_000);
    format!("{}s", format_float(seconds, b'f', None, 64))
}

/// A timestamp in RFC 3339, without trailing zeros in the fraction of the second.
pub fn moment(time: &Time) -> String {
    time.written(RFC_3339_NANO)
}
