//! Arithmetic with overflow checks.

use bumpwright_gostd::Time;

use super::{Fault, Value};

type Outcome = Result<Value, Fault>;

/// Seconds since 1970 of the first and last valid timestamp.
pub(crate) const TIMESTAMPS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
const NANOS: i64 = 1_000_000_000;

fn int(result: Option<i64>) -> Outcome {
    result.map(Value::Int).ok_or_else(|| Fault::new("integer overflow"))
}

fn uint(result: Option<u64>) -> Outcome {
    result
        .map(Value::Uint)
        .ok_or_else(|| Fault::new("unsigned integer overflow"))
}

fn duration(result: Option<i64>) -> Outcome {
    result
        .map(Value::Duration)
        .ok_or_else(|| Fault::new("duration overflow"))
}

/// `left + right`, except for lists and texts, which the caller concatenates.
pub fn add(left: &Value, right: &Value) -> Outcome {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(left.checked_add(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_add(*right)),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left + right)),
        (Value::Duration(left), Value::Duration(right)) => duration(left.checked_add(*right)),
        (Value::Timestamp(time), Value::Duration(by)) | (Value::Duration(by), Value::Timestamp(time)) => {
            later(time, *by)
        }
        _ => Err(Fault::no_overload()),
    }
}

pub fn subtract(left: &Value, right: &Value) -> Outcome {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(left.checked_sub(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_sub(*right)),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left - right)),
        (Value::Duration(left), Value::Duration(right)) => duration(left.checked_sub(*right)),
        (Value::Timestamp(time), Value::Duration(by)) => {
            let by = by.checked_neg().ok_or_else(|| Fault::new("duration overflow"))?;
            later(time, by)
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => {
            let seconds = left.unix_seconds() - right.unix_seconds();
            let nanoseconds = i64::from(left.nanoseconds) - i64::from(right.nanoseconds);
            let apart = seconds.checked_mul(NANOS).and_then(|sum| sum.checked_add(nanoseconds));
            apart.map(Value::Duration).ok_or_else(|| Fault::new("integer overflow"))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn later(time: &Time, by: i64) -> Outcome {
    let sum = time.add(bumpwright_gostd::Duration(by));
    if TIMESTAMPS.contains(&sum.unix_seconds()) {
        Ok(Value::Timestamp(sum))
    } else {
        Err(Fault::new("timestamp overflow"))
    }
}

pub fn multiply(left: &Value, right: &Value) -> Outcome {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(left.checked_mul(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_mul(*right)),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left * right)),
        _ => Err(Fault::no_overload()),
    }
}

pub fn divide(left: &Value, right: &Value) -> Outcome {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(Fault::new("division by zero")),
        (Value::Int(left), Value::Int(right)) => int(left.checked_div(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_div(*right)),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left / right)),
        _ => Err(Fault::no_overload()),
    }
}

pub fn modulo(left: &Value, right: &Value) -> Outcome {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(Fault::new("modulus by zero")),
        (Value::Int(left), Value::Int(right)) => int(left.checked_rem(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_rem(*right)),
        _ => Err(Fault::no_overload()),
    }
}

pub fn negate(value: &Value) -> Outcome {
    match value {
        Value::Int(value) => int(value.checked_neg()),
        Value::Double(value) => Ok(Value::Double(-value)),
        Value::Duration(value) => duration(value.checked_neg()),
        _ => Err(Fault::no_overload()),
    }
}
