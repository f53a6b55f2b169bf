//! Go's `reflect.DeepEqual`.

use crate::template::{Failure, Host, Map, Value};

/// Whether both have the same type and the same content. Nil and empty lists and maps differ, NaN differs from itself
/// unless both sides are the very same list, map or pointer.
///
/// # Errors
/// A limit was reached.
pub(super) fn deep_equal(host: &mut Host<'_>, a: &Value, b: &Value) -> Result<bool, Failure> {
    same(host, &mut Vec::new(), a, b)
}

/// `under_way` are the maps that are being compared further out: they count as equal, so that maps that hold
/// themselves come to an end.
fn same(host: &mut Host<'_>, under_way: &mut Vec<(Map, Map)>, a: &Value, b: &Value) -> Result<bool, Failure> {
    host.step(1)?;
    if a.type_of() != b.type_of() {
        return Ok(false);
    }
    match (a.bare(), b.bare()) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        (Value::Int(_, a), Value::Int(_, b)) => Ok(a == b),
        (Value::Uint(_, a), Value::Uint(_, b)) => Ok(a == b),
        (Value::Float(_, a), Value::Float(_, b)) => Ok(a == b),
        (Value::Complex(_, a, x), Value::Complex(_, b, y)) => Ok(a == b && x == y),
        (Value::String(a), Value::String(b)) => Ok(a == b),
        (Value::Slice(a), Value::Slice(b)) if a.is_nil() != b.is_nil() => Ok(false),
        (Value::Slice(a), Value::Slice(b)) if std::ptr::eq(a.items(), b.items()) => Ok(true),
        (Value::Slice(a), Value::Slice(b)) => all_same(host, under_way, a.items(), b.items()),
        (Value::Array(a), Value::Array(b)) => all_same(host, under_way, a.items(), b.items()),
        (Value::Struct(a), Value::Struct(b)) => all_same(host, under_way, a.fields(), b.fields()),
        (Value::Map(a), Value::Map(b)) => same_maps(host, under_way, a, b),
        (Value::Pointer(a), Value::Pointer(b)) => match (&a.target, &b.target) {
            (Some(a), Some(b)) if std::rc::Rc::ptr_eq(a, b) => Ok(true),
            (Some(a), Some(b)) => host.deeper(|host| same(host, under_way, a, b)),
            (a, b) => Ok(a.is_none() && b.is_none()),
        },
        _ => Ok(false),
    }
}

fn all_same(
    host: &mut Host<'_>,
    under_way: &mut Vec<(Map, Map)>,
    a: &[Value],
    b: &[Value],
) -> Result<bool, Failure> {
    if a.len() != b.len() {
        return Ok(false);
    }
    host.deeper(|host| {
        for (a, b) in a.iter().zip(b) {
            if !same(host, under_way, a, b)? {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

fn same_maps(host: &mut Host<'_>, under_way: &mut Vec<(Map, Map)>, a: &Map, b: &Map) -> Result<bool, Failure> {
    if a.is_nil() != b.is_nil() || a.len() != b.len() {
        return Ok(false);
    }
    host.step(under_way.len() as u64)?;
    let is_under_way = under_way.iter().any(|(ours, theirs)| {
        (ours.is_same(a) && theirs.is_same(b)) || (ours.is_same(b) && theirs.is_same(a))
    });
    if a.is_same(b) || is_under_way {
        return Ok(true);
    }
    under_way.push((a.clone(), b.clone()));
    let result = host.deeper(|host| {
        for (key, ours) in a.entries() {
            let Some(theirs) = b.get(&key) else { return Ok(false) };
            if !same(host, under_way, &ours, &theirs)? {
                return Ok(false);
            }
        }
        Ok(true)
    });
    under_way.pop();
    result
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::{
        sprig::trial::StillWorld,
        template::{LIST, Limits},
    };

    fn equal(a: &Value, b: &Value) -> bool {
        deep_equal(&mut Host::new(Limits::default(), &StillWorld), a, b).unwrap()
    }

    #[test]
    fn types_and_identity_count() {
        let not_a_number = Value::list(vec![Value::float(f64::NAN)]);
        let other = Value::list(vec![Value::float(f64::NAN)]);
        for (a, b, expected) in [
            (Value::int(1), Value::int64(1), false),
            (Value::Nil, Value::zero(&LIST), false),
            (Value::zero(&LIST), Value::list(vec![]), false),
            (Value::strings(["a"]), Value::list(vec!["a".into()]), false),
            (not_a_number.clone(), other, false),
            (not_a_number.clone(), not_a_number, true),
            (Value::dict([("a", Value::Nil)]), Value::dict([("b", Value::Nil)]), false),
            (Value::dict([("a", Value::int(1))]), Value::dict([("a", Value::int(1))]), true),
        ] {
            assert_eq!(equal(&a, &b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn maps_that_hold_themselves_come_to_an_end() {
        let [a, b] = [0, 1].map(|_| {
            let dict = Value::dict([("x", Value::int(1))]);
            let Value::Map(map) = &dict else { panic!("not a map") };
            map.insert("self".into(), dict.clone());
            dict
        });
        assert!(equal(&a, &b));
        for dict in [a, b] {
            let Value::Map(map) = dict else { panic!("not a map") };
            map.remove(&"self".into());
        }
    }
}
