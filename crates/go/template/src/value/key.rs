//! The order of map keys, as Go prints and ranges over maps (`internal/fmtsort`).

use std::borrow::Borrow;
use std::cmp::Ordering;

use super::model::Value;

/// A key of a map.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub(crate) struct Key(pub Value);

impl Key {
    /// The key for a lookup of `value`.
    pub(crate) fn of(value: &Value) -> &dyn Keyed {
        value
    }
}

/// The key type of a lookup in a map.
pub(crate) trait Keyed {
    /// The value of the key.
    fn key(&self) -> &Value;
}

impl Keyed for Key {
    fn key(&self) -> &Value {
        &self.0
    }
}

impl Keyed for Value {
    fn key(&self) -> &Value {
        self
    }
}

impl<'a> Borrow<dyn Keyed + 'a> for Key {
    fn borrow(&self) -> &(dyn Keyed + 'a) {
        self
    }
}

impl Ord for dyn Keyed + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.key(), other.key())
    }
}

impl PartialOrd for dyn Keyed + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Keyed + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for dyn Keyed + '_ {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

/// Go's order of keys: nil first, false before true, NaN before numbers, strings by bytes, structs and arrays field by
/// field. Keys of different types, possible only in `map[interface {}]…`, have the order of [`Value`]'s variants: Go
/// compares the addresses of its type descriptors there.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a.bare(), b.bare()) {
        // Keys often share their parts.
        (Value::String(a), Value::String(b)) if a.is_same(b) => Ordering::Equal,
        (Value::Struct(a), Value::Struct(b)) if a.is_same(b) => Ordering::Equal,
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(_, a), Value::Int(_, b)) => a.cmp(b),
        (Value::Uint(_, a), Value::Uint(_, b)) => a.cmp(b),
        (Value::Float(_, a), Value::Float(_, b)) => floats(*a, *b),
        (Value::Complex(_, a, x), Value::Complex(_, b, y)) => floats(*a, *b).then_with(|| floats(*x, *y)),
        (Value::Struct(a), Value::Struct(b)) => all(a.fields(), b.fields()),
        (Value::Array(a), Value::Array(b)) => all(a.items(), b.items()),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn all(a: &[Value], b: &[Value]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        match compare(a, b) {
            Ordering::Equal => {}
            order => return order,
        }
    }
    a.len().cmp(&b.len())
}

fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

fn rank(value: &Value) -> usize {
    match value {
        Value::Nil => 0,
        Value::Bool(_) => 1,
        Value::Int(..) => 2,
        Value::Uint(..) => 3,
        Value::Float(..) => 4,
        Value::Complex(..) => 5,
        Value::String(_) => 6,
        Value::Slice(_) => 7,
        Value::Array(_) => 8,
        Value::Map(_) => 9,
        Value::Struct(_) => 10,
        Value::Pointer(_) => 11,
        Value::Named(..) => 12,
    }
}
