//! Equality and order of values.

use std::cmp::Ordering;

use super::{Fault, Map, Value};

/// Whether two values are equal. Values of different types are not, except for numbers.
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Bytes(left), Value::Bytes(right)) => left == right,
        (Value::Type(left), Value::Type(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left.order(right).is_eq(),
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| equal(left, right))
        }
        (Value::Map(left), Value::Map(right)) => equal_maps(left, right),
        (Value::Optional(left), Value::Optional(right)) => match (left, right) {
            (Some(left), Some(right)) => equal(left, right),
            (None, None) => true,
            _ => false,
        },
        _ => numbers(left, right).is_some_and(|order| order == Some(Ordering::Equal)),
    }
}

fn equal_maps(left: &Map, right: &Map) -> bool {
    let has_equal =
        |(key, value): (&super::Key, &Value)| Value::find(right, &key.value()).is_some_and(|other| equal(value, other));
    left.len() == right.len() && left.iter().all(has_equal)
}

/// The order of two numbers; `None` when they are not numbers, `Some(None)` when one is NaN.
fn numbers(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    Some(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Uint(left), Value::Uint(right)) => Some(left.cmp(right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Uint(left), Value::Int(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Double(left), Value::Int(right)) => double_and_int(*left, *right),
        (Value::Int(left), Value::Double(right)) => double_and_int(*right, *left).map(Ordering::reverse),
        (Value::Double(left), Value::Uint(right)) => double_and_uint(*left, *right),
        (Value::Uint(left), Value::Double(right)) => double_and_uint(*right, *left).map(Ordering::reverse),
        _ => return None,
    })
}

fn double_and_int(double: f64, int: i64) -> Option<Ordering> {
    if double < i64::MIN as f64 {
        return Some(Ordering::Less);
    }
    if double > i64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    double.partial_cmp(&(int as f64))
}

fn double_and_uint(double: f64, uint: u64) -> Option<Ordering> {
    if double < 0.0 {
        return Some(Ordering::Less);
    }
    if double > u64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    double.partial_cmp(&(uint as f64))
}

/// The order of two values.
///
/// # Errors
/// When they have no order.
pub fn compare(left: &Value, right: &Value) -> Result<Ordering, Fault> {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        (Value::String(left), Value::String(right)) => Ok(left.as_bytes().cmp(right.as_bytes())),
        (Value::Bytes(left), Value::Bytes(right)) => Ok(left.cmp(right)),
        (Value::Duration(left), Value::Duration(right)) => Ok(left.cmp(right)),
        (Value::Timestamp(left), Value::Timestamp(right)) => Ok(left.order(right)),
        _ => match numbers(left, right) {
            Some(Some(order)) => Ok(order),
            Some(None) => Err(Fault::new("NaN values cannot be ordered")),
            None if matches!(left, Value::Double(double) if double.is_nan()) => {
                Err(Fault::new("NaN values cannot be ordered"))
            }
            None => Err(Fault::no_overload()),
        },
    }
}
