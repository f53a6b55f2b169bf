//! Go's `reflect.DeepEqual`.

use crate::text::strval::searched;
use bumpwright_template::{Failure, Host, Map, Value};
use std::rc::Rc;

/// Whether both have the same type and the same content at all depths. A nil list or map is not equal to an empty one,
/// a NaN not to itself, unless both sides are the same memory.
pub(crate) fn deep_equal(host: &mut Host<'_>, left: &Value, right: &Value) -> Result<bool, Failure> {
    Comparison { maps: Vec::new() }.values(host, left, right)
}

struct Comparison {
    /// The pairs of maps being compared: maps can contain themselves, and a pair need not be compared twice.
    maps: Vec<(Map, Map)>,
}

impl Comparison {
    fn values(&mut self, host: &mut Host<'_>, left: &Value, right: &Value) -> Result<bool, Failure> {
        host.step(1)?;
        if left.type_of() != right.type_of() {
            return Ok(false);
        }
        Ok(match (left.bare(), right.bare()) {
            (Value::Nil, Value::Nil) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(_, a), Value::Int(_, b)) => a == b,
            (Value::Uint(_, a), Value::Uint(_, b)) => a == b,
            (Value::Float(_, a), Value::Float(_, b)) => a == b,
            (Value::Complex(_, a, x), Value::Complex(_, b, y)) => a == b && x == y,
            (Value::String(a), Value::String(b)) => {
                searched(host, a)?;
                a == b
            }
            (Value::Slice(a), Value::Slice(b)) => {
                a.is_nil() == b.is_nil() && self.all_items(host, a.items(), b.items())?
            }
            (Value::Array(a), Value::Array(b)) => self.each_item(host, a.items(), b.items())?,
            (Value::Struct(a), Value::Struct(b)) => self.each_item(host, a.fields(), b.fields())?,
            (Value::Map(a), Value::Map(b)) => self.entries(host, a, b)?,
            (Value::Pointer(a), Value::Pointer(b)) => match (&a.target, &b.target) {
                (Some(a), Some(b)) => Rc::ptr_eq(a, b) || host.deeper(|host| self.values(host, a, b))?,
                (a, b) => a.is_none() && b.is_none(),
            },
            _ => false,
        })
    }

    fn all_items(&mut self, host: &mut Host<'_>, left: &[Value], right: &[Value]) -> Result<bool, Failure> {
        Ok(std::ptr::eq(left, right) || self.each_item(host, left, right)?)
    }

    fn each_item(&mut self, host: &mut Host<'_>, left: &[Value], right: &[Value]) -> Result<bool, Failure> {
        if left.len() != right.len() {
            return Ok(false);
        }
        host.deeper(|host| {
            for (a, b) in left.iter().zip(right) {
                if !self.values(host, a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn entries(&mut self, host: &mut Host<'_>, left: &Map, right: &Map) -> Result<bool, Failure> {
        if left.is_nil() != right.is_nil() || left.len() != right.len() {
            return Ok(false);
        }
        host.step(self.maps.len() as u64 / 16)?;
        let under_way =
            |(a, b): &(Map, Map)| a.is_same(left) && b.is_same(right) || a.is_same(right) && b.is_same(left);
        if left.is_same(right) || self.maps.iter().any(under_way) {
            return Ok(true);
        }
        self.maps.push((left.clone(), right.clone()));
        let equal = host.deeper(|host| {
            for (key, a) in left.counted_entries(host)?.iter() {
                match right.get(key) {
                    Some(b) if self.values(host, a, &b)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        });
        self.maps.pop();
        equal
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;
    use bumpwright_template::{DICT, LIST};

    fn equal(a: &Value, b: &Value) -> bool {
        matches!(call("deepEqual", &[a.clone(), b.clone()]), Ok(Value::Bool(true)))
    }

    #[test]
    fn equality_is_of_types_and_depths() {
        let nan = || Value::list(vec![Value::float(f64::NAN)]);
        let shared = nan();
        let nested = |number| Value::dict([("a", Value::list(vec![Value::dict([("b", Value::int(number))])]))]);
        for (a, b, expected) in [
            (Value::Nil, Value::Nil, true),
            (Value::int(1), Value::int64(1), false),
            (Value::zero(&LIST), Value::list(Vec::new()), false),
            (Value::zero(&DICT), Value::zero(&DICT), true),
            (Value::zero(&DICT), Value::dict::<&str>([]), false),
            (Value::strings(["a"]), Value::list(vec!["a".into()]), false),
            (nested(1), nested(1), true),
            (nested(1), nested(2), false),
            (
                Value::dict([("a", Value::Nil)]),
                Value::dict([("b", Value::Nil)]),
                false,
            ),
            (Value::float(0.0), Value::float(-0.0), true),
            (nan(), nan(), false),
            (shared.clone(), shared, true),
        ] {
            assert_eq!(equal(&a, &b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn maps_that_hold_themselves_end() {
        let circle = || {
            let map = Map::new(&bumpwright_template::STRING, &bumpwright_template::ANY, []);
            map.insert("self".into(), Value::Map(map.clone()));
            map
        };
        let (a, b) = (circle(), circle());
        assert!(equal(&Value::Map(a.clone()), &Value::Map(b.clone())));
        b.insert("self".into(), Value::int(1));
        assert!(!equal(&Value::Map(a.clone()), &Value::Map(b.clone())));
        a.remove(&"self".into());
    }
}
