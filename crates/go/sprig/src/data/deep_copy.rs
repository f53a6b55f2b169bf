//! Copies without shared mutable parts (`copystructure` v1.2.0).

use bumpwright_template::{
    ANY, Args, Array, Failure, Function, Host, LIST_BYTES, Map, Pointer, Slice, Struct, Type, Value,
};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("deepCopy", &[&ANY], &ANY, deep_copy),
    Function::new("mustDeepCopy", &[&ANY], &ANY, deep_copy),
];

fn deep_copy(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    match args.value(0)? {
        Value::Nil => Err(Failure::new("reflect: call of reflect.Value.Type on zero Value")),
        value => copy(host, value),
    }
}

fn copy(host: &mut Host<'_>, value: &Value) -> Result<Value, Failure> {
    Ok(match value {
        Value::Slice(slice) if !slice.is_nil() => {
            Value::Slice(Slice::new(slice.item, all(host, slice.item, slice.items())?))
        }
        Value::Array(array) => Value::Array(Array::new(array.item, all(host, array.item, array.items())?)),
        Value::Map(map) if !map.is_nil() => Value::Map(copy_map(host, map)?),
        Value::Struct(of) => Value::Struct(copy_struct(host, of)?),
        Value::Pointer(pointer) => match &pointer.target {
            Some(target) => Value::Pointer(Pointer::new(pointer.to, host.deeper(|host| copy(host, target))?)),
            None => value.clone(),
        },
        Value::Named(name, bare) => Value::named(name, copy(host, bare)?),
        flat => flat.clone(),
    })
}

fn all(host: &mut Host<'_>, item: &Type, items: &[Value]) -> Result<Vec<Value>, Failure> {
    host.produce(LIST_BYTES.saturating_add(std::mem::size_of_val(items)))?;
    host.deeper(|host| items.iter().map(|value| element(host, item, value)).collect())
}

/// The content of a place of type `of`. In an interface a nil pointer loses its type.
fn element(host: &mut Host<'_>, of: &Type, value: &Value) -> Result<Value, Failure> {
    match value {
        Value::Pointer(pointer) if pointer.target.is_none() && of.is_interface() => Ok(Value::Nil),
        value => copy(host, value),
    }
}

fn copy_map(host: &mut Host<'_>, map: &Map) -> Result<Map, Failure> {
    host.produce(Map::bytes(map.len()))?;
    let entries = map.counted_entries(host)?;
    let entries = host.deeper(|host| {
        let copied = entries.iter().map(|(key, value)| {
            let value = element(host, map.item, value)?;
            Ok((key.clone(), value))
        });
        copied.collect::<Result<Vec<_>, Failure>>()
    })?;
    Ok(Map::new(map.key, map.item, entries))
}

/// Fields that are not exported are zero in the copy, except those of a time.
fn copy_struct(host: &mut Host<'_>, of: &Struct) -> Result<Struct, Failure> {
    if of.of.name == "time.Time" {
        return Ok(of.clone());
    }
    host.produce(LIST_BYTES.saturating_add(std::mem::size_of_val(of.fields())))?;
    let fields = host.deeper(|host| {
        let fields = of.of.fields.iter().zip(of.fields());
        let copied = fields.map(|(field, value)| {
            if field.is_exported() {
                element(host, field.ty, value)
            } else {
                Ok(Value::zero(field.ty))
            }
        });
        copied.collect::<Result<Vec<_>, Failure>>()
    })?;
    Ok(Struct::new(of.of, fields))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;
    use bumpwright_template::{Field, INT, StructType};

    static TO_INT: Type = Type::Pointer(&INT);
    static HALF_OPEN: StructType = StructType {
        name: "main.HalfOpen",
        fields: &[
            Field::new("Shown", &INT),
            Field::new("hidden", &INT),
            Field::new("To", &TO_INT),
        ],
        methods: &[],
    };

    fn half_open(hidden: i64) -> Value {
        let fields = vec![Value::int(1), Value::int(hidden), Value::zero(&TO_INT)];
        Value::Struct(Struct::new(&HALF_OPEN, fields))
    }

    #[test]
    fn copies_lose_what_reflection_cannot_set() {
        for (value, expected) in [
            (half_open(2), half_open(0)),
            (Value::list(vec![Value::zero(&TO_INT)]), Value::list(vec![Value::Nil])),
            (Value::zero(&TO_INT), Value::zero(&TO_INT)),
        ] {
            let copied = call("deepCopy", &[value]).unwrap();
            assert_eq!(format!("{copied:?}"), format!("{expected:?}"));
        }
        let nil = Failure::new("reflect: call of reflect.Value.Type on zero Value");
        assert_eq!(call("mustDeepCopy", &[Value::Nil]).unwrap_err(), nil);
    }

    #[test]
    fn copies_share_no_map() {
        let inner = Value::dict([("a", Value::int(1))]);
        let copied = call("deepCopy", &[Value::list(vec![inner.clone()])]).unwrap();
        call("unset", &[inner, "a".into()]).unwrap();
        let expected = Value::list(vec![Value::dict([("a", Value::int(1))])]);
        assert_eq!(format!("{copied:?}"), format!("{expected:?}"));
    }
}
