//! Keys of maps.

use std::sync::Arc;

use super::Value;

/// A value that can be a key. Doubles are stored as their bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(u64),
    String(Arc<str>),
    Duration(i64),
    Type(Arc<str>),
}

impl Key {
    pub fn string(text: &str) -> Self {
        Self::String(Arc::from(text))
    }

    /// The key of a value; `None` for values that cannot be keys.
    pub fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::Double(value) => Self::Double((*value + 0.0).to_bits()),
            Value::String(text) => Self::String(Arc::clone(text)),
            Value::Duration(value) => Self::Duration(*value),
            Value::Type(name) => Self::Type(Arc::clone(name)),
            Value::Bytes(_) | Value::List(_) | Value::Map(_) | Value::Timestamp(_) | Value::Optional(_) => return None,
        })
    }

    /// The value of the key.
    pub fn value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::Double(bits) => Value::Double(f64::from_bits(*bits)),
            Self::String(text) => Value::String(Arc::clone(text)),
            Self::Duration(value) => Value::Duration(*value),
            Self::Type(name) => Value::Type(Arc::clone(name)),
        }
    }

    /// The keys under which a value is looked up: itself, then equal whole numbers of the other types.
    pub fn candidates(value: &Value) -> Vec<Self> {
        let Some(key) = Self::of(value) else { return Vec::new() };
        let mut keys = vec![key];
        match value {
            Value::Double(double) => {
                keys.extend(whole_int(*double).map(Self::Int));
                keys.extend(whole_uint(*double).map(Self::Uint));
            }
            Value::Int(int) => keys.extend(u64::try_from(*int).ok().map(Self::Uint)),
            Value::Uint(uint) => keys.extend(i64::try_from(*uint).ok().map(Self::Int)),
            _ => {}
        }
        keys
    }
}

/// A `double` as an `int`, if that is exact.
fn whole_int(double: f64) -> Option<i64> {
    let inside = double > i64::MIN as f64 && double < i64::MAX as f64;
    let int = double as i64;
    (inside && int as f64 == double).then_some(int)
}

/// A `double` as a `uint`, if that is exact.
fn whole_uint(double: f64) -> Option<u64> {
    let inside = (0.0..18_446_744_073_709_551_616.0).contains(&double);
    let uint = double as u64;
    (inside && uint as f64 == double).then_some(uint)
}
