//! `index`, `slice` and `len`: lookup in containers, with `reflect`'s own panics where Go does not replace them.

use super::compare::is_comparable;
use crate::exec::host::Host;
use crate::value::convert::{as_integer, is_assignable, zero};
use crate::value::failure::Failure;
use crate::value::go_type::TypeKind;
use crate::value::model::{Slice, Slot, Type, UintKind, Value};
use crate::value::slot::{View, indirect};
use crate::value::text::Text;
use bumpwright_text::Parts;

/// `index x 1 "a"`: `x[1]["a"]`.
pub(crate) fn index(_: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let Some((container, indexes)) = arguments.split_first() else {
        return Err(Failure::new("index of untyped nil"));
    };
    let mut item = held(container);
    if !item.is_valid() {
        return Err(Failure::new("index of untyped nil"));
    }
    for index in indexes {
        let next = element(indirect(&item), &held(index), &item)?;
        item = next;
    }
    Ok(item)
}

/// `slice x 1 2`: `x[1:2]`.
pub(crate) fn slice(host: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let Some((container, indexes)) = arguments.split_first() else {
        return Err(Failure::new("slice of untyped nil"));
    };
    let container = held(container);
    if !container.is_valid() {
        return Err(Failure::new("slice of untyped nil"));
    }
    let view = indirect(&container);
    if view.is_nil {
        return Err(Failure::new("slice of nil pointer"));
    }
    if indexes.len() > 3 {
        return Err(Failure::new(format!("too many slice indexes: {}", indexes.len())));
    }
    let length = match view.value.bare() {
        Value::String(_) if indexes.len() == 3 => return Err(Failure::new("cannot 3-index slice a string")),
        Value::String(text) => text.len(),
        Value::Slice(slice) => slice.items().len(),
        Value::Array(array) => array.items().len(),
        value => {
            let name = view.value.type_name();
            debug_assert!(!matches!(value, Value::Nil), "indirection ends at nil");
            return Err(Failure::new(format!("can't slice item of type {name}")));
        }
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = position(index, length)?;
    }
    let [from, to, most] = bounds;
    if from > to {
        return Err(Failure::new(format!("invalid slice index: {from} > {to}")));
    }
    if indexes.len() == 3 && to > most {
        return Err(Failure::new(format!("invalid slice index: {to} > {most}")));
    }
    cut(host, view, from..to, indexes.len() == 3)
}

pub(crate) fn len(_: &mut Host<'_>, arguments: &[Slot]) -> Result<Slot, Failure> {
    let nothing = Slot::nothing();
    let slot = arguments.first().unwrap_or(&nothing);
    let view = indirect(slot);
    if view.is_nil {
        return Err(Failure::new("len of nil pointer"));
    }
    let length = match view.value.bare() {
        Value::String(text) => text.len(),
        Value::Slice(slice) => slice.items().len(),
        Value::Array(array) => array.items().len(),
        Value::Map(map) => map.len(),
        _ => {
            return Err(Failure::new(match view.value.type_of() {
                Some(ty) => format!("len of type {ty}"),
                None => "reflect: call of reflect.Value.Type on zero Value".to_owned(),
            }));
        }
    };
    Ok(Slot::of(Value::int(length as i64)))
}

/// The content of an interface; other places unchanged.
fn held(slot: &Slot) -> Slot {
    match slot.interface {
        Some(_) => Slot::of(slot.value.clone()),
        None => slot.clone(),
    }
}

/// `view[index]`; `slot` is the place of the view.
fn element(view: View<'_>, index: &Slot, slot: &Slot) -> Result<Slot, Failure> {
    if view.is_nil {
        return Err(Failure::new("index of nil pointer"));
    }
    let out_of_range = |what: &str| Failure::new(format!("reflect: {what} index out of range"));
    match view.value.bare() {
        Value::String(text) => {
            let at = position(index, text.len())?;
            let byte = text.get(at).ok_or_else(|| out_of_range("string"))?;
            Ok(Slot::of(Value::Uint(UintKind::Uint8, u64::from(*byte))))
        }
        Value::Slice(slice) => {
            let at = position(index, slice.items().len())?;
            let item = slice.items().get(at).ok_or_else(|| out_of_range("slice"))?;
            Ok(Slot::in_place(item.clone(), slice.item, true))
        }
        Value::Array(array) => {
            let at = position(index, array.items().len())?;
            let item = array.items().get(at).ok_or_else(|| out_of_range("array"))?;
            Ok(Slot::in_place(item.clone(), array.item, view.addressable))
        }
        Value::Map(map) => {
            let key = key_for(index, map.key)?;
            let item = map.get(&key);
            Ok(item.map_or_else(|| zero(map.item), |item| Slot::in_place(item, map.item, false)))
        }
        _ => {
            let name = match view.value.type_of() {
                Some(ty) => ty.to_string(),
                None => slot.type_name(),
            };
            Err(Failure::new(format!("can't index item of type {name}")))
        }
    }
}

/// An index into a container of that length; the length itself is allowed, as in Go.
fn position(index: &Slot, length: usize) -> Result<usize, Failure> {
    let at = match (index.interface, index.value.bare()) {
        (None, Value::Int(_, at)) => *at,
        #[allow(clippy::cast_possible_wrap)] // as Go does
        (None, Value::Uint(_, at)) => *at as i64,
        (None, Value::Nil) => return Err(Failure::new("cannot index slice/array with nil")),
        _ => {
            let name = index.type_name();
            return Err(Failure::new(format!("cannot index slice/array with type {name}")));
        }
    };
    match usize::try_from(at) {
        Ok(at) if at <= length => Ok(at),
        _ => Err(Failure::new(format!("index out of range: {at}"))),
    }
}

/// A key for a map with keys of type `ty`.
fn key_for(index: &Slot, ty: &'static Type) -> Result<Value, Failure> {
    let Some(from) = index.type_of() else {
        return if ty.can_be_nil() {
            Ok(Value::zero(ty))
        } else {
            Err(Failure::new(format!("value is nil; should be of type {ty}")))
        };
    };
    if is_assignable(&from, ty) {
        if let Some(unhashable) = unhashable(&index.value) {
            return Err(Failure::new(format!(
                "runtime error: hash of unhashable type {unhashable}"
            )));
        }
        return Ok(match ty {
            Type::Named(named) if !matches!(index.value, Value::Named(..)) => Value::named(named, index.value.clone()),
            _ => index.value.clone(),
        });
    }
    let number = match index.value.bare() {
        Value::Int(_, number) => Some(i128::from(*number)),
        Value::Uint(_, number) => Some(i128::from(*number)),
        _ => None,
    };
    number
        .filter(|_| matches!(ty.kind(), TypeKind::Int | TypeKind::Uint))
        .and_then(|number| as_integer(ty, number))
        .ok_or_else(|| Failure::new(format!("value has type {from}; should be {ty}")))
}

/// The type that prevents a value from being a key: its own, or that of something in an interface within it.
fn unhashable(value: &Value) -> Option<Type> {
    let ty = value.type_of()?;
    if !is_comparable(&ty) {
        return Some(ty);
    }
    match value.bare() {
        Value::Array(array) => array.items().iter().find_map(unhashable),
        Value::Struct(of) => of.fields().iter().find_map(unhashable),
        _ => None,
    }
}

fn cut(
    host: &mut Host<'_>,
    view: View<'_>,
    range: std::ops::Range<usize>,
    with_capacity: bool,
) -> Result<Slot, Failure> {
    let (items, item) = match view.value.bare() {
        Value::String(text) => {
            let text = Value::String(Text::from(text.part(range)));
            return Ok(Slot::of(renamed(view.value, text)));
        }
        Value::Array(_) if !view.addressable => {
            let method = if with_capacity { "Slice3" } else { "Slice" };
            return Err(Failure::new(format!(
                "reflect.Value.{method}: slice of unaddressable array"
            )));
        }
        Value::Array(array) => (array.items(), array.item),
        Value::Slice(slice) => (slice.items(), slice.item),
        _ => (&[] as &[Value], &Type::Reflect),
    };
    let items = items.part(range);
    host.produce(std::mem::size_of_val(items))?;
    let is_nil = view.value.is_nil();
    let slice = if is_nil {
        Slice::nil(item)
    } else {
        Slice::new(item, items.to_vec())
    };
    let slice = Value::Slice(slice);
    Ok(Slot::of(match view.value.bare() {
        Value::Slice(_) => renamed(view.value, slice),
        _ => slice,
    }))
}

/// `value` with the type name of `like`.
fn renamed(like: &Value, value: Value) -> Value {
    match like {
        Value::Named(named, _) => Value::named(named, value),
        _ => value,
    }
}
