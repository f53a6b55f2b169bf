//! Merges dictionaries (`mergo` v1.0.1), with all effects of its use of `reflect`.

use super::dicts::nil_map;
use bumpwright_template::{
    ANY, Args, DICT, Failure, Function, Host, Map, Pointer, Slice, Slot, Struct, StructType, Type, TypeKind, Value,
};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("merge", &[&DICT, &DICT], &ANY, |host, args| {
        merge(host, args, false, false)
    })
    .variadic(),
    Function::new("mustMerge", &[&DICT, &DICT], &ANY, |host, args| {
        merge(host, args, false, true)
    })
    .variadic(),
    Function::new("mergeOverwrite", &[&DICT, &DICT], &ANY, |host, args| {
        merge(host, args, true, false)
    })
    .variadic(),
    Function::new("mustMergeOverwrite", &[&DICT, &DICT], &ANY, |host, args| {
        merge(host, args, true, true)
    })
    .variadic(),
];

/// Why a merge stopped.
enum MergeError {
    /// The only error of mergo. A function without `must` in its name then returns an empty string.
    DifferentTypes,
    /// A panic in Go, or a limit.
    Failure(Failure),
}

impl From<Failure> for MergeError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// The new value of the target, if it was replaced. A map that changes in place is not.
type Replaced = Result<Option<Value>, MergeError>;

fn merge(host: &mut Host<'_>, args: Args<'_>, overwrite: bool, must: bool) -> Result<Value, Failure> {
    let mut merged = args.value(0)?.clone();
    for source in args.rest(1) {
        let target = Slot::in_place(merged.clone(), &DICT, true);
        match (Merger { host, overwrite }).merge(&target, &Slot::of(source.clone())) {
            Ok(replaced) => merged = replaced.unwrap_or(merged),
            Err(MergeError::Failure(failure)) => return Err(failure),
            Err(MergeError::DifferentTypes) if must => return Err(Failure::new("src and dst must be of same type")),
            Err(MergeError::DifferentTypes) => return Ok("".into()),
        }
    }
    Ok(merged)
}

/// A merge of a source into a target. An addressable target can be set.
struct Merger<'h, 'w> {
    host: &'h mut Host<'w>,
    overwrite: bool,
}

impl Merger<'_, '_> {
    fn merge(&mut self, target: &Slot, source: &Slot) -> Replaced {
        if !source.is_valid() {
            return Ok(None);
        }
        self.host.step(1)?;
        match kind(target) {
            Some(TypeKind::Struct) => self.merge_struct(target, source),
            Some(TypeKind::Map) => self.merge_map(target, source),
            Some(TypeKind::Pointer) => self.merge_pointer(target, source),
            Some(TypeKind::Interface) => self.merge_interface(target, source),
            _ => self.merge_flat(target, source),
        }
    }

    /// Runs a merge one level further in.
    fn inner(&mut self, target: &Slot, source: &Slot) -> Replaced {
        let overwrite = self.overwrite;
        self.host
            .deeper(|host| Merger { host, overwrite }.merge(target, source))
    }

    fn merge_flat(&self, target: &Slot, source: &Slot) -> Replaced {
        if target.addressable && (self.overwrite || is_empty(&target.value)) && !is_empty(&source.value) {
            return set(target, source);
        }
        Ok(None)
    }

    fn merge_struct(&mut self, target: &Slot, source: &Slot) -> Replaced {
        let Value::Struct(fields) = &target.value else {
            return Ok(None);
        };
        if !has_exported_fields(fields.of) {
            return if target.addressable && self.overwrite && !is_empty(&source.value) {
                set(target, source)
            } else {
                Ok(None)
            };
        }
        let mut merged = fields.fields().to_vec();
        let mut is_changed = false;
        for (index, (field, value)) in fields.of.fields.iter().zip(&mut merged).enumerate() {
            let source = field_of(source, index)?;
            // The others cannot be set, and hold nothing that templates reach.
            if field.is_exported() {
                let target = Slot::in_place(value.clone(), field.ty, target.addressable);
                if let Some(replaced) = self.inner(&target, &source)? {
                    *value = replaced;
                    is_changed = true;
                }
            }
        }
        Ok(is_changed.then(|| Value::Struct(Struct::new(fields.of, merged))))
    }

    fn merge_map(&mut self, target: &Slot, source: &Slot) -> Replaced {
        let Value::Map(map) = target.value.bare() else {
            return Ok(None);
        };
        let mut map = map.clone();
        let mut created = None;
        if map.is_nil() && !is_nil(source)? {
            if !target.addressable {
                return Ok(None);
            }
            map = Map::new(map.key, map.item, []);
            created = Some(match &target.value {
                Value::Named(name, _) => Value::named(name, Value::Map(map.clone())),
                _ => Value::Map(map.clone()),
            });
        }
        let Value::Map(from) = source.value.bare() else {
            return if self.overwrite && target.addressable {
                set(target, source)
            } else {
                Ok(created)
            };
        };
        for (key, _) in from.counted_entries(self.host)?.iter() {
            if let Some(value) = from.get(key) {
                self.merge_entry(&map, key, from.key, &Slot::in_place(value, from.item, false))?;
            }
        }
        Ok(created)
    }

    /// Merges one entry of a source into a map.
    fn merge_entry(&mut self, map: &Map, key: &Value, key_type: &Type, source: &Slot) -> Result<(), MergeError> {
        // The key is looked up in both maps, and set in one.
        self.host.step(3)?;
        check_assignable("reflect.Value.MapIndex", key_type, map.key)?;
        let target = match map.get(key) {
            Some(value) => Slot::in_place(value, map.item, false),
            None => Slot::nothing(),
        };
        if matches!(
            kind(source),
            Some(TypeKind::Map | TypeKind::Interface | TypeKind::Slice)
        ) && is_nil(source)?
        {
            if self.overwrite {
                self.put(map, key, source)?;
            }
            return Ok(());
        }
        let source_kind = source.value.type_of().map(|of| of.kind());
        let mut is_filled = !is_empty(&target.value);
        match source_kind {
            Some(TypeKind::Struct | TypeKind::Pointer | TypeKind::Map) => {
                let replaced = self.inner(&Slot::of(target.value.clone()), &Slot::of(source.value.clone()))?;
                // Go changes the pointer's target in the map; here that is another pointer.
                let now = replaced.as_ref().unwrap_or(&target.value);
                is_filled = !is_empty(now);
                if let Some(replaced) = replaced {
                    map.insert(key.clone(), replaced);
                }
            }
            Some(TypeKind::Slice) => {
                let slice = self.merged_slice(map, &target, &source.value)?;
                self.put(map, key, &Slot::of(slice))?;
            }
            _ => {}
        }
        if is_filled {
            let target_kind = target.value.type_of().map(|of| of.kind());
            let is_merged = source_kind == Some(TypeKind::Slice)
                || (source_kind == Some(TypeKind::Map) && target_kind == Some(TypeKind::Map));
            if is_merged {
                return Ok(());
            }
        }
        if !is_filled || (self.overwrite && kind(source) != Some(TypeKind::Pointer)) {
            self.put(map, key, source)?;
        }
        Ok(())
    }

    /// The value that Go first sets at a key for a slice, which only matters when that fails.
    fn merged_slice(&self, map: &Map, target: &Slot, source: &Value) -> Result<Value, MergeError> {
        let is_missing = !target.is_valid() || is_nil(target)?;
        if self.overwrite || map.is_empty() {
            return Ok(source.clone());
        }
        Ok(match source {
            Value::Slice(slice) if is_missing => Value::Slice(Slice::new(slice.item, Vec::new())),
            named if is_missing => named.clone(),
            _ => target.value.clone(),
        })
    }

    fn merge_pointer(&mut self, target: &Slot, source: &Slot) -> Replaced {
        let Value::Pointer(pointer) = &target.value else {
            return Ok(None);
        };
        if !matches!(kind(source), Some(TypeKind::Pointer)) {
            return match &pointer.target {
                _ if is_reflect_nil(source) => Ok(None),
                Some(_) if self.overwrite => self.merge_reference(target, source),
                Some(value) => self.merge_target(pointer, value, source),
                None => self.merge_reference(target, source),
            };
        }
        match (&pointer.target, &source.value) {
            (_, source) if source.is_nil() => Ok(None),
            (
                Some(ours),
                Value::Pointer(Pointer {
                    to,
                    target: Some(theirs),
                }),
            ) => {
                let ours = Slot::in_place(Value::clone(ours), pointer.to, true);
                let theirs = Slot::in_place(Value::clone(theirs), to, true);
                let replaced = self.inner(&ours, &theirs)?;
                Ok(replaced.map(|value| Value::Pointer(Pointer::new(pointer.to, value))))
            }
            _ => self.merge_reference(target, source),
        }
    }

    /// A target that is an interface: a field of a struct.
    fn merge_interface(&mut self, target: &Slot, source: &Slot) -> Replaced {
        if is_reflect_nil(source) {
            return Ok(None);
        }
        let is_nil = matches!(target.value, Value::Nil);
        if is_nil || self.overwrite {
            return self.merge_reference(target, source);
        }
        let (ours, theirs) = (Slot::of(target.value.clone()), Slot::of(source.value.clone()));
        if kind(&ours) == kind(&theirs) {
            return self.inner(&ours, &theirs);
        }
        Ok(None)
    }

    /// A pointer's target is merged with its own type only.
    fn merge_target(&mut self, pointer: &Pointer, target: &Value, source: &Slot) -> Replaced {
        let target = Slot::in_place(target.clone(), pointer.to, true);
        if target.type_of() != source.type_of() {
            return Err(MergeError::DifferentTypes);
        }
        let replaced = self.inner(&target, source)?;
        Ok(replaced.map(|value| Value::Pointer(Pointer::new(pointer.to, value))))
    }

    /// Sets a place that is a pointer or an interface as a whole.
    fn merge_reference(&self, target: &Slot, source: &Slot) -> Replaced {
        if target.addressable && (self.overwrite || is_empty(&target.value)) {
            return set(target, source);
        }
        Ok(None)
    }

    /// Go's `Value.SetMapIndex`.
    fn put(&mut self, map: &Map, key: &Value, value: &Slot) -> Result<(), MergeError> {
        if let Some(of) = value.type_of() {
            check_assignable("reflect.Value.SetMapIndex", &of, map.item)?;
        }
        map.count_entry(self.host)?;
        if map.insert(key.clone(), value.value.clone()) {
            Ok(())
        } else {
            Err(nil_map().into())
        }
    }
}

/// Go's `Value.Kind` of a place; `None` when it holds nothing.
fn kind(slot: &Slot) -> Option<TypeKind> {
    slot.type_of().map(|of| of.kind())
}

/// Go's `Value.Set`.
fn set(target: &Slot, source: &Slot) -> Replaced {
    if let (Some(to), Some(from)) = (target.type_of(), source.type_of()) {
        check_assignable("reflect.Set", &from, &to)?;
    }
    Ok(Some(source.value.clone()))
}

fn check_assignable(what: &str, from: &Type, to: &Type) -> Result<(), Failure> {
    let is_named = |of: &Type| matches!(of, Type::Named(_) | Type::Struct(_));
    let is_unnamed_form = !(is_named(from) && is_named(to)) && from.underlying() == to.underlying();
    if to.is_interface() || from == to || is_unnamed_form {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{what}: value of type {from} is not assignable to type {to}"
    )))
}

/// Go's `Value.IsNil`, which panics for some kinds.
fn is_nil(slot: &Slot) -> Result<bool, Failure> {
    match kind(slot) {
        Some(TypeKind::Interface) => Ok(matches!(slot.value, Value::Nil)),
        Some(TypeKind::Map | TypeKind::Slice | TypeKind::Pointer) => Ok(slot.value.is_nil()),
        _ => Err(bad_call("IsNil", slot)),
    }
}

/// The same with `false` for the other kinds.
fn is_reflect_nil(slot: &Slot) -> bool {
    is_nil(slot).unwrap_or(false)
}

/// Go's `Value.Field`.
fn field_of(slot: &Slot, index: usize) -> Result<Slot, Failure> {
    let Value::Struct(of) = &slot.value else {
        return Err(bad_call("Field", slot));
    };
    let field = of.of.fields.get(index).zip(of.fields().get(index));
    let (field, value) = field.ok_or_else(|| Failure::new("reflect: Field index out of range"))?;
    Ok(Slot::in_place(value.clone(), field.ty, slot.addressable))
}

fn bad_call(method: &str, slot: &Slot) -> Failure {
    let on = slot.type_of().map_or_else(|| "zero".to_owned(), |of| of.kind_name());
    Failure::new(format!("reflect: call of reflect.Value.{method} on {on} Value"))
}

fn has_exported_fields(of: &StructType) -> bool {
    of.fields.iter().any(|field| match field.ty {
        Type::Struct(inner) if field.embedded => has_exported_fields(inner),
        _ => field.is_exported(),
    })
}

/// Whether a merge counts a value as empty: unlike elsewhere in Sprig also a pointer to something empty.
fn is_empty(mut value: &Value) -> bool {
    while let Value::Pointer(Pointer {
        target: Some(target), ..
    }) = value
    {
        value = target;
    }
    match value.bare() {
        Value::Complex(..) | Value::Struct(_) => false,
        other => super::defaults::empty(other),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;
    use bumpwright_template::{Field, INT, STRING, STRING_MAP};

    static POINT: StructType = StructType {
        name: "main.Point",
        fields: &[Field::new("X", &INT), Field::new("Y", &INT)],
        methods: &[],
    };
    static TO_POINT: Type = Type::Struct(&POINT);

    fn dict(entries: &[(&str, Value)]) -> Value {
        Value::dict(entries.iter().cloned())
    }

    fn said(result: Result<Value, Failure>) -> String {
        match result {
            Ok(value) => format!("{value:?}"),
            Err(failure) => failure.text().to_owned(),
        }
    }

    #[test]
    fn empty_values_are_filled_and_overwriting_is_total() {
        let inner = |key| dict(&[(key, Value::int(1))]);
        let both = dict(&[("x", Value::int(1)), ("y", Value::int(1))]);
        for (ours, theirs, filled, overwritten) in [
            (Value::int(1), Value::int(2), Value::int(1), Value::int(2)),
            (Value::int(0), Value::int(2), Value::int(2), Value::int(2)),
            (Value::int(1), Value::Nil, Value::int(1), Value::Nil),
            (false.into(), "s".into(), "s".into(), "s".into()),
            (inner("x"), inner("y"), both.clone(), both),
            (inner("x"), Value::int(5), inner("x"), Value::int(5)),
            ("s".into(), inner("x"), "s".into(), inner("x")),
            (
                Value::list(vec![Value::int(1)]),
                Value::list(vec![Value::int(2)]),
                Value::list(vec![Value::int(1)]),
                Value::list(vec![Value::int(2)]),
            ),
            (inner("x"), Value::list(vec![]), inner("x"), Value::list(vec![])),
        ] {
            for (name, expected) in [("merge", filled), ("mergeOverwrite", overwritten)] {
                // A copy, since maps within change.
                let fresh = call("deepCopy", std::slice::from_ref(&ours)).unwrap();
                let merged = call(name, &[dict(&[("k", fresh)]), dict(&[("k", theirs.clone())])]);
                let expected = Ok(dict(&[("k", expected)]));
                assert_eq!(said(merged), said(expected), "{name} {ours:?} {theirs:?}");
            }
        }
    }

    #[test]
    fn typed_maps_take_their_types_only() {
        let typed = || {
            let entries = [("a".into(), "1".into())];
            dict(&[("k", Value::Map(Map::new(&STRING, &STRING, entries)))])
        };
        assert_eq!(typed().type_of(), Some(DICT));
        let source = |key| dict(&[("k", dict(&[(key, "2".into())]))]);
        assert_eq!(said(call("merge", &[typed(), source("a")])), said(Ok(typed())));
        assert_eq!(
            said(call("merge", &[typed(), source("b")])),
            "reflect.Value.SetMapIndex: value of type interface {} is not assignable to type string"
        );
        let nil = dict(&[("k", Value::zero(&STRING_MAP))]);
        assert_eq!(said(call("merge", &[nil, source("b")])), said(Ok(source("b"))));
    }

    #[test]
    fn pointers_merge_what_they_point_at() {
        let point = |x, y| {
            let fields = vec![Value::int(x), Value::int(y)];
            let point = Value::Struct(Struct::new(&POINT, fields));
            dict(&[("p", Value::Pointer(Pointer::new(&TO_POINT, point)))])
        };
        assert_eq!(said(call("merge", &[point(1, 0), point(2, 3)])), said(Ok(point(1, 3))));
        let other = dict(&[("p", dict(&[("X", Value::int(1))]))]);
        assert_eq!(said(call("merge", &[point(1, 0), other.clone()])), r#"String("")"#);
        let must = call("mustMerge", &[point(1, 0), other]);
        assert_eq!(said(must), "src and dst must be of same type");
    }

    #[test]
    fn only_the_outermost_map_may_be_nil() {
        let merged = call("merge", &[Value::zero(&DICT), dict(&[("a", Value::int(1))])]);
        assert_eq!(said(merged), said(Ok(dict(&[("a", Value::int(1))]))));
    }

    #[test]
    fn maps_that_hold_themselves_reach_a_limit() {
        let [ours, theirs] = [0, 1].map(|_| {
            let dict = dict(&[]);
            call("set", &[dict.clone(), "self".into(), dict.clone()]).unwrap();
            dict
        });
        let merged = call("merge", &[ours.clone(), theirs.clone()]);
        assert!(matches!(merged, Err(Failure::Limit(_))));
        let copied = call("deepCopy", std::slice::from_ref(&ours));
        assert!(matches!(copied, Err(Failure::Limit(_))));
        for dict in [ours, theirs] {
            call("unset", &[dict, "self".into()]).unwrap();
        }
    }
}
