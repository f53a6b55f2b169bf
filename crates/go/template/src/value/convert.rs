//! Conversion between types: assignability, and numbers of other widths.

use super::methods::find_method;
use super::model::{ComplexKind, FloatKind, IntKind, Slot, Type, UintKind, Value};

/// The zero value of a type, in a place of that type.
pub(crate) fn zero(ty: &'static Type) -> Slot {
    match ty {
        Type::Reflect => Slot::nothing(),
        _ => Slot::in_place(Value::zero(ty), ty, false),
    }
}

/// Go's `AssignableTo`.
pub(crate) fn is_assignable(from: &Type, to: &Type) -> bool {
    if from == to || to.is_any() {
        return true;
    }
    if to.is_interface() {
        return find_method(from, "Error", false).is_some_and(|found| found.returns_string());
    }
    // Of two types with the same structure one may have a name, not both.
    let composite = |ty: &Type| matches!(ty, Type::Slice(_) | Type::Array(..) | Type::Map(..) | Type::Pointer(_));
    (composite(from) || composite(to)) && from.underlying() == to.underlying()
}

/// An integer as Go converts it to the integer type `ty`: overflow wraps around.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // wrapping is what is asked for
pub(crate) fn as_integer(ty: &Type, number: i128) -> Option<Value> {
    Some(match ty {
        Type::Int(kind) => Value::Int(
            *kind,
            match kind {
                IntKind::Int | IntKind::Int64 => number as i64,
                IntKind::Int8 => i64::from(number as i8),
                IntKind::Int16 => i64::from(number as i16),
                IntKind::Int32 => i64::from(number as i32),
            },
        ),
        Type::Uint(kind) => Value::Uint(
            *kind,
            match kind {
                UintKind::Uint | UintKind::Uint64 | UintKind::Uintptr => number as u64,
                UintKind::Uint8 => u64::from(number as u8),
                UintKind::Uint16 => u64::from(number as u16),
                UintKind::Uint32 => u64::from(number as u32),
            },
        ),
        Type::Named(named) => Value::named(named, as_integer(named.underlying, number)?),
        _ => return None,
    })
}

/// A float as Go converts it to the float type `ty`.
pub(crate) fn as_float(ty: &Type, number: f64) -> Option<Value> {
    match ty {
        Type::Float(kind @ FloatKind::Float64) => Some(Value::Float(*kind, number)),
        Type::Float(kind) => Some(Value::Float(*kind, f64::from(number as f32))),
        _ => None,
    }
}

/// A complex number as Go converts it to the complex type `ty`.
pub(crate) fn as_complex(ty: &Type, (real, imaginary): (f64, f64)) -> Option<Value> {
    match ty {
        Type::Complex(kind @ ComplexKind::Complex128) => Some(Value::Complex(*kind, real, imaginary)),
        Type::Complex(kind) => Some(Value::Complex(
            *kind,
            f64::from(real as f32),
            f64::from(imaginary as f32),
        )),
        _ => None,
    }
}
