//! Conversion of any value to a string, used by many functions of Sprig.

use bumpwright_template::{Failure, Host, LIST_BYTES, Text, Type, TypeKind, UINT8, Value, find_print_method, print};

/// Strings and `[]byte` unchanged, errors and Stringers by their methods, everything else as `%v` prints it.
pub(crate) fn strval(host: &mut Host<'_>, value: &Value) -> Result<Text, Failure> {
    match value {
        Value::String(text) => return Ok(text.clone()),
        Value::Slice(slice) if *slice.item == UINT8 => {
            let bytes = slice.items().iter().map(|item| match item.bare() {
                Value::Uint(_, byte) => *byte as u8,
                _ => 0,
            });
            return made(host, bytes.collect());
        }
        _ => {}
    }
    if let Some(of) = value.type_of()
        && let Some(method) = find_print_method(&of, false)
        && let Value::String(text) = host.deeper(|host| method.call(host, value))?
    {
        return Ok(text);
    }
    let mut out = Vec::new();
    print(host, &mut out, value)?;
    made(host, out)
}

/// The items of a list as strings, without those that are nil; anything else as the only item.
pub(crate) fn strslice(host: &mut Host<'_>, value: &Value) -> Result<Vec<Text>, Failure> {
    let Some(items) = value.items() else {
        return Ok(match value {
            Value::Nil => Vec::new(),
            single => vec![strval(host, single)?],
        });
    };
    host.step(items.len() as u64)?;
    host.produce(LIST_BYTES.saturating_add(std::mem::size_of_val(items)))?;
    let given = items.iter().filter(|item| !matches!(item, Value::Nil));
    given.map(|item| strval(host, item)).collect()
}

/// Whether Go's `reflect.Indirect` of the value is a slice or an array.
pub(crate) fn is_list_or_points_at_one(value: &Value) -> bool {
    let of = match value.type_of() {
        Some(Type::Pointer(to)) => Some(*to),
        other => other,
    };
    of.is_some_and(|of| matches!(of.kind(), TypeKind::Slice | TypeKind::Array))
}

/// Counts bytes that are searched or compared, many at once.
pub(crate) fn searched(host: &mut Host<'_>, bytes: &[u8]) -> Result<(), Failure> {
    host.step(bytes.len() as u64 / 64)
}

/// Counts bytes that are visited character by character.
pub(crate) fn walked(host: &mut Host<'_>, bytes: &[u8]) -> Result<(), Failure> {
    host.step(bytes.len() as u64 / 8)
}

/// Counts a new string, and returns it.
pub(crate) fn made(host: &mut Host<'_>, bytes: Vec<u8>) -> Result<Text, Failure> {
    host.produce(bytes.len())?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;
    use bumpwright_template::{BYTES, Function, Method, NamedType, Pointer, STRING, STRINGS, Slice, UintKind};

    static SHOUT: NamedType = NamedType {
        name: "main.Shout",
        underlying: &STRING,
        methods: &[Method {
            pointer: false,
            function: Function::new("String", &[], &STRING, |_, args| {
                Ok(Value::text(args.text(0)?.to_ascii_uppercase()))
            }),
        }],
    };

    static NAMED: Type = Type::Named(&SHOUT);

    #[test]
    fn methods_speak_before_formats() {
        let named = Value::named(&SHOUT, "hey".into());
        let pointer = Value::Pointer(Pointer::new(&NAMED, named.clone()));
        let byte = |byte| Value::Uint(UintKind::Uint8, byte);
        let bytes = Value::Slice(Slice::new(&UINT8, vec![byte(0x68), byte(0xff)]));
        assert_eq!(bytes.type_of(), Some(BYTES));
        for (value, expected) in [
            (named, b"HEY".as_slice()),
            (pointer, b"HEY"),
            (bytes, b"h\xff"),
            (Value::text("as \u{e9}"), "as \u{e9}".as_bytes()),
        ] {
            let Value::String(text) = call("toString", &[value]).unwrap() else {
                panic!("not a string")
            };
            assert_eq!(&text[..], expected);
        }
    }

    #[test]
    fn lists_lose_what_is_nil() {
        let list = Value::list(vec!["a".into(), Value::Nil, "b".into()]);
        assert_eq!(call("toStrings", &[list]).unwrap().items().unwrap().len(), 2);
        let nothing = call("toStrings", &[Value::Nil]).unwrap();
        assert!(!nothing.is_nil() && nothing.items().unwrap().is_empty());
        let nil = call("toStrings", &[Value::zero(&STRINGS)]).unwrap();
        assert!(nil.is_nil());
    }
}
