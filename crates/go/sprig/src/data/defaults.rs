//! Defaults, emptiness, choices.

use bumpwright_template::{ANY, Args, BOOL, Failure, Function, Host, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("default", &[&ANY, &ANY], &ANY, default).variadic(),
    Function::new("empty", &[&ANY], &BOOL, is_empty),
    Function::new("coalesce", &[&ANY], &ANY, coalesce).variadic(),
    Function::new("all", &[&ANY], &BOOL, all).variadic(),
    Function::new("any", &[&ANY], &BOOL, any).variadic(),
    Function::new("ternary", &[&ANY, &ANY, &BOOL], &ANY, ternary),
];

/// Whether Sprig counts a value as empty: false, zero, nil, no bytes, no items. A struct never is, whatever its fields.
pub(crate) fn empty(value: &Value) -> bool {
    match value.bare() {
        Value::Nil => true,
        Value::Bool(truth) => !truth,
        Value::Int(_, number) => *number == 0,
        Value::Uint(_, number) => *number == 0,
        Value::Float(_, number) => *number == 0.0,
        Value::Complex(_, real, imaginary) => *real == 0.0 && *imaginary == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Slice(slice) => slice.items().is_empty(),
        Value::Array(array) => array.items().is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Pointer(pointer) => pointer.target.is_none(),
        Value::Struct(_) | Value::Named(..) => false,
    }
}

/// The default comes first, for `VALUE | default DEFAULT`; no value at all counts as an empty one.
fn default(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let default = args.value(0)?;
    let given = args.rest(1).first().filter(|given| !empty(given));
    Ok(given.unwrap_or(default).clone())
}

fn is_empty(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(empty(args.value(0)?).into())
}

fn coalesce(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    host.step(args.len() as u64)?;
    Ok(Value::or_nil(args.0.iter().find(|value| !empty(value))))
}

fn all(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    host.step(args.len() as u64)?;
    Ok((!args.0.iter().any(empty)).into())
}

fn any(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    host.step(args.len() as u64)?;
    Ok((!args.0.iter().all(empty)).into())
}

fn ternary(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let chosen = if args.bool(2)? { 0 } else { 1 };
    args.value(chosen).cloned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;
    use bumpwright_template::{Array, DICT, Field, INT, LIST, Pointer, Struct, StructType, Type, UintKind};

    static POINT: StructType = StructType {
        name: "main.Point",
        fields: &[Field::new("X", &INT)],
        methods: &[],
    };

    static TO_INT: Type = Type::Pointer(&INT);

    #[test]
    fn emptiness_is_of_the_kind() {
        for value in [
            Value::Nil,
            false.into(),
            Value::int(0),
            Value::Uint(UintKind::Uint8, 0),
            Value::float(-0.0),
            "".into(),
            Value::list(Vec::new()),
            Value::zero(&LIST),
            Value::Array(Array::new(&INT, Vec::new())),
            Value::zero(&DICT),
            Value::zero(&TO_INT),
        ] {
            assert!(empty(&value), "{value:?}");
        }
        let zero = Value::Struct(Struct::new(&POINT, vec![Value::int(0)]));
        for value in [
            true.into(),
            Value::int(-1),
            Value::float(f64::NAN),
            " ".into(),
            Value::list(vec![Value::Nil]),
            zero,
            Value::Pointer(Pointer::new(&INT, Value::int(0))),
        ] {
            assert!(!empty(&value), "{value:?}");
        }
    }

    #[test]
    fn choices_fall_where_sprig_lets_them() {
        for (name, arguments, expected) in [
            ("default", vec![Value::int(7)], Value::int(7)),
            ("default", vec![Value::int(7), Value::int(0)], Value::int(7)),
            (
                "default",
                vec![Value::int(7), Value::int(0), Value::int(9)],
                Value::int(7),
            ),
            ("default", vec![Value::int(7), Value::int(8)], Value::int(8)),
            ("coalesce", vec!["".into(), Value::int(0), "x".into()], "x".into()),
            ("coalesce", vec![], Value::Nil),
            ("all", vec![], true.into()),
            ("all", vec![Value::int(1), "".into()], false.into()),
            ("any", vec![], false.into()),
            ("any", vec![Value::int(1), "".into()], true.into()),
            ("ternary", vec!["y".into(), "n".into(), false.into()], "n".into()),
        ] {
            let result = call(name, &arguments).unwrap();
            assert_eq!(format!("{result:?}"), format!("{expected:?}"), "{name} {arguments:?}");
        }
    }
}
