//! `eq`, `ne`, `lt`, `le`, `gt`, `ge`.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::exec::host::Host;
use crate::print::sprint::sprintf;
use crate::value::failure::Failure;
use crate::value::model::{Slot, Type, Value};
use bumpwright_gostd::lossy;

/// The kinds that can always be compared: `text/template`'s `basicKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basic {
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
}

/// Bytes that are compared in the time of one step.
const BYTES_PER_STEP: usize = 4096;

/// `eq a b c`: whether `a` equals one of the others.
pub(crate) fn eq(host: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let Some((first, others)) = arguments.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Err(Failure::new("missing argument for comparison"));
    };
    for other in others {
        if equal(host, &first.value, &other.value)? {
            return Ok(answer(true));
        }
    }
    Ok(answer(false))
}

pub(crate) fn ne(host: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let (a, b) = pair(arguments)?;
    Ok(answer(!equal(host, a, b)?))
}

pub(crate) fn lt(host: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let (a, b) = pair(arguments)?;
    Ok(answer(less(host, a, b)?))
}

pub(crate) fn le(host: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let (a, b) = pair(arguments)?;
    Ok(answer(less_or_equal(host, a, b)?))
}

pub(crate) fn gt(host: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let (a, b) = pair(arguments)?;
    Ok(answer(!less_or_equal(host, a, b)?))
}

pub(crate) fn ge(host: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let (a, b) = pair(arguments)?;
    Ok(answer(!less(host, a, b)?))
}

fn answer(truth: bool) -> Slot {
    Slot::of(Value::Bool(truth))
}

fn pair(arguments: &[Slot]) -> Result<(&Value, &Value), Failure> {
    match arguments {
        [a, b] => Ok((&a.value, &b.value)),
        _ => Err(Failure::new("missing argument for comparison")),
    }
}

fn basic(value: &Value) -> Option<Basic> {
    Some(match value.bare() {
        Value::Bool(_) => Basic::Bool,
        Value::Int(..) => Basic::Int,
        Value::Uint(..) => Basic::Uint,
        Value::Float(..) => Basic::Float,
        Value::Complex(..) => Basic::Complex,
        Value::String(_) => Basic::String,
        _ => return None,
    })
}

fn equal(host: &mut Host<'_>, a: &Value, b: &Value) -> Result<bool, Failure> {
    match (basic(a), basic(b)) {
        (None, None) => same(host, a, b),
        (x, y) if x == y => {
            count_bytes(host, a, b)?;
            Ok(same_basic(a, b))
        }
        (Some(Basic::Int), Some(Basic::Uint)) | (Some(Basic::Uint), Some(Basic::Int)) => {
            Ok(integers(a, b) == Some(Ordering::Equal))
        }
        _ => match (a.type_of(), b.type_of()) {
            (Some(a), Some(b)) => Err(incompatible(&a, &b)),
            _ => Ok(false),
        },
    }
}

/// Counts the comparison of two strings: a template may compare long ones in a loop.
fn count_bytes(host: &mut Host<'_>, a: &Value, b: &Value) -> Result<(), Failure> {
    match (a.bare(), b.bare()) {
        (Value::String(a), Value::String(b)) => host.step((a.len().min(b.len()) / BYTES_PER_STEP) as u64),
        _ => Ok(()),
    }
}

fn same_basic(a: &Value, b: &Value) -> bool {
    match (a.bare(), b.bare()) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(_, a), Value::Int(_, b)) => a == b,
        (Value::Uint(_, a), Value::Uint(_, b)) => a == b,
        (Value::Float(_, a), Value::Float(_, b)) => a == b,
        (Value::Complex(_, a, x), Value::Complex(_, b, y)) => a == b && x == y,
        (Value::String(a), Value::String(b)) => a == b,
        _ => false,
    }
}

fn integers(a: &Value, b: &Value) -> Option<Ordering> {
    let number = |value: &Value| match value.bare() {
        Value::Int(_, number) => Some(i128::from(*number)),
        Value::Uint(_, number) => Some(i128::from(*number)),
        _ => None,
    };
    Some(number(a)?.cmp(&number(b)?))
}

fn incompatible(a: &Type, b: &Type) -> Failure {
    Failure::new(format!("incompatible types for comparison: {a} and {b}"))
}

/// Whether two values that are not basic are equal, which is often an error.
fn same(host: &mut Host<'_>, a: &Value, b: &Value) -> Result<bool, Failure> {
    let (Some(x), Some(y)) = (a.type_of(), b.type_of()) else {
        return Ok(a.is_nil() && b.is_nil());
    };
    if x.kind() != y.kind() {
        let (a, b) = (shown(host, b"%s", a)?, shown(host, b"%v", b)?);
        return Err(Failure::new(format!("non-comparable types {a}: {x}, {y}: {b}")));
    }
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() && b.is_nil());
    }
    if !is_comparable(&y) {
        let b = shown(host, b"%s", b)?;
        return Err(Failure::new(format!("non-comparable type {b}: {y}")));
    }
    identical(host, a, b)
}

fn shown(host: &mut Host<'_>, format: &[u8], value: &Value) -> Result<String, Failure> {
    Ok(lossy(&sprintf(host, format, std::slice::from_ref(value))?).into_owned())
}

/// Go's `Type.Comparable`.
pub(crate) fn is_comparable(ty: &Type) -> bool {
    match ty {
        Type::Slice(_) | Type::Map(..) => false,
        Type::Array(_, item) => is_comparable(item),
        Type::Struct(of) => of.fields.iter().all(|field| is_comparable(field.ty)),
        Type::Named(named) => is_comparable(named.underlying),
        _ => true,
    }
}

/// Go's `==` on two interfaces.
fn identical(host: &mut Host<'_>, a: &Value, b: &Value) -> Result<bool, Failure> {
    host.step(1)?;
    let (Some(x), Some(y)) = (a.type_of(), b.type_of()) else {
        return Ok(a.type_of().is_none() && b.type_of().is_none());
    };
    if x != y {
        return Ok(false);
    }
    if !is_comparable(&x) {
        return Err(Failure::new(format!("runtime error: comparing uncomparable type {x}")));
    }
    let pairs = match (a.bare(), b.bare()) {
        (Value::Pointer(a), Value::Pointer(b)) => {
            return Ok(match (&a.target, &b.target) {
                (Some(a), Some(b)) => Rc::ptr_eq(a, b),
                (None, None) => true,
                _ => false,
            });
        }
        (Value::Struct(a), Value::Struct(b)) => a.fields().iter().zip(b.fields()),
        (Value::Array(a), Value::Array(b)) => a.items().iter().zip(b.items()),
        (a, b) => {
            count_bytes(host, a, b)?;
            return Ok(same_basic(a, b));
        }
    };
    host.deeper(|host| {
        for (a, b) in pairs {
            if !identical(host, a, b)? {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

fn less(host: &mut Host<'_>, a: &Value, b: &Value) -> Result<bool, Failure> {
    count_bytes(host, a, b)?;
    let bad = || Failure::new("invalid type for comparison");
    let (Some(x), Some(y)) = (basic(a), basic(b)) else {
        return Err(bad());
    };
    match (x, y) {
        (Basic::Int | Basic::Uint, Basic::Int | Basic::Uint) => Ok(integers(a, b) == Some(Ordering::Less)),
        _ if x != y => match (a.type_of(), b.type_of()) {
            (Some(a), Some(b)) => Err(incompatible(&a, &b)),
            _ => Err(bad()),
        },
        _ => match (a.bare(), b.bare()) {
            (Value::Float(_, a), Value::Float(_, b)) => Ok(a < b),
            (Value::String(a), Value::String(b)) => Ok(a < b),
            _ => Err(bad()),
        },
    }
}

fn less_or_equal(host: &mut Host<'_>, a: &Value, b: &Value) -> Result<bool, Failure> {
    Ok(less(host, a, b)? || equal(host, a, b)?)
}
