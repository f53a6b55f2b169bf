//! JSON. The functions without `must` return an empty value where the others fail, all but `toRawJson`.

use super::decode::decode;
use super::encode::{encode, indent};
use bumpwright_template::{ANY, Args, Failure, Function, Host, STRING, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("fromJson", &[&STRING], &ANY, |host, args| {
        Ok(decode(host, args.text(0)?)?.0)
    }),
    Function::new("mustFromJson", &[&STRING], &ANY, |host, args| {
        match decode(host, args.text(0)?)? {
            (value, None) => Ok(value),
            (_, Some(fault)) => Err(Failure::new(fault)),
        }
    }),
    Function::new("mustToJson", &[&ANY], &STRING, compact),
    Function::new("mustToPrettyJson", &[&ANY], &STRING, pretty),
    Function::new("mustToRawJson", &[&ANY], &STRING, raw),
    Function::new("toJson", &[&ANY], &STRING, |host, args| or_nothing(compact(host, args))),
    Function::new("toPrettyJson", &[&ANY], &STRING, |host, args| {
        or_nothing(pretty(host, args))
    }),
    Function::new("toRawJson", &[&ANY], &STRING, raw),
];

fn compact(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(Value::text(encode(host, args.value(0)?, true)?))
}

fn pretty(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let compact = encode(host, args.value(0)?, true)?;
    Ok(Value::text(indent(host, &compact)?))
}

fn raw(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(Value::text(encode(host, args.value(0)?, false)?))
}

/// Fails for a limit of our own also where Go would return nothing.
fn or_nothing(encoded: Result<Value, Failure>) -> Result<Value, Failure> {
    match encoded {
        Err(Failure::Error(_)) => Ok(Value::text("")),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::testing::call;
    use bumpwright_template::{
        Failure, Field, INT, Map, Pointer, STRING, Slice, Struct, StructType, Type, UINT8, UintKind, Value,
    };

    fn written(name: &str, value: &Value) -> Result<String, Failure> {
        match call(name, std::slice::from_ref(value))? {
            Value::String(text) => Ok(text.lossy().into_owned()),
            other => panic!("{other:?}"),
        }
    }

    fn read(text: &[u8]) -> Result<Value, Failure> {
        call("mustFromJson", &[Value::text(text)])
    }

    #[test]
    fn writes_values_as_go_does() {
        let bytes = Slice::new(&UINT8, vec![Value::Uint(UintKind::Uint8, 255)]);
        for (value, expected) in [
            (Value::Nil, "null"),
            (Value::Slice(Slice::nil(&STRING)), "null"),
            (
                Value::Map(Map::new(
                    &INT,
                    &STRING,
                    [(Value::int(10), "b".into()), (Value::int(9), "a".into())],
                )),
                r#"{"10":"b","9":"a"}"#,
            ),
            (Value::Slice(bytes), r#""/w==""#),
            (Value::float(1e21), "1e+21"),
            (Value::float(-1e-7), "-1e-7"),
            (Value::float(1.5e-10), "1.5e-10"),
            (Value::float(123_456_789.0), "123456789"),
            (
                Value::text([b"a\xff<\x01".as_slice(), "\u{2028}\u{7f}".as_bytes()].concat()),
                "\"a\\ufffd\\u003c\\u0001\\u2028\u{7f}\"",
            ),
        ] {
            assert_eq!(written("toJson", &value).as_deref(), Ok(expected));
        }
        let nested = Value::dict([
            ("b", Value::list(vec![])),
            ("a", Value::list(vec![Value::int(1), "{,".into()])),
        ]);
        assert_eq!(
            written("toPrettyJson", &nested).as_deref(),
            Ok("{\n  \"a\": [\n    1,\n    \"{,\"\n  ],\n  \"b\": []\n}")
        );
        assert_eq!(written("toRawJson", &"<&>".into()).as_deref(), Ok("\"<&>\""));
    }

    static INNER: StructType = StructType {
        name: "x.Inner",
        fields: &[Field::new("Depth", &INT), Field::new("Name", &STRING)],
        methods: &[],
    };
    static INNER_VALUE: Type = Type::Struct(&INNER);
    static INNER_POINTER: Type = Type::Pointer(&INNER_VALUE);
    static OUTER: StructType = StructType {
        name: "x.Outer",
        fields: &[
            Field::embedded("Inner", &INNER_POINTER),
            Field::new("Name", &STRING),
            Field::new("hidden", &STRING),
            Field::new("Kind", &STRING).json("kind,omitempty"),
        ],
        methods: &[],
    };

    #[test]
    fn fields_are_promoted_and_the_outer_one_wins() {
        let inner = Value::Struct(Struct::new(&INNER, vec![Value::int(3), "in".into()]));
        let outer = |kind: &str| {
            let pointer = Value::Pointer(Pointer::new(&INNER_VALUE, inner.clone()));
            Value::Struct(Struct::new(
                &OUTER,
                vec![pointer, "out".into(), "x".into(), kind.into()],
            ))
        };
        assert_eq!(
            written("toJson", &outer("k")).as_deref(),
            Ok(r#"{"Depth":3,"Name":"out","kind":"k"}"#)
        );
        assert_eq!(
            written("toJson", &outer("")).as_deref(),
            Ok(r#"{"Depth":3,"Name":"out"}"#)
        );
    }

    #[test]
    fn what_json_cannot_hold_is_nothing_or_an_error() {
        let knot = Value::dict([("x", Value::Nil)]);
        let Value::Map(map) = &knot else { panic!() };
        map.insert("x".into(), Value::list(vec![knot.clone()]));
        let keyed = Value::Map(Map::new(&super::ANY, &super::ANY, []));
        for (value, expected) in [
            (Value::float(f64::NAN), "json: unsupported value: NaN"),
            (Value::float(f64::INFINITY), "json: unsupported value: +Inf"),
            (keyed, "json: unsupported type: map[interface {}]interface {}"),
            (
                knot.clone(),
                "json: unsupported value: encountered a cycle via []interface {}",
            ),
        ] {
            assert_eq!(written("toJson", &value).as_deref(), Ok(""));
            assert_eq!(written("toRawJson", &value), Err(Failure::new(expected)));
        }
        map.insert("x".into(), Value::Nil);
    }

    #[test]
    fn reads_any_document() {
        let value = read(br#" {"a":[1,-2.5e3,true,null],"a":{"b":"\u00e9\ud83d\ude00\ud800x\/"},"":[]} "#).unwrap();
        assert_eq!(
            written("toRawJson", &value).as_deref(),
            Ok("{\"\":[],\"a\":{\"b\":\"\u{e9}\u{1f600}\u{fffd}x/\"}}")
        );
        assert_eq!(
            written("toRawJson", &read(b"\"\xff\xe2\x82\"").unwrap()).as_deref(),
            Ok("\"\u{fffd}\u{fffd}\u{fffd}\"")
        );
        assert!(read(&[b"[".repeat(10_000), b"]".repeat(10_000)].concat()).is_ok());
    }

    #[test]
    fn says_what_is_no_json() {
        let deep = "[".repeat(10_001);
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("\"a", "unexpected end of JSON input"),
            ("tru", "invalid character ' ' in literal true (expecting 'e')"),
            ("nul1", "invalid character '1' in literal null (expecting 'l')"),
            ("-", "invalid character ' ' in numeric literal"),
            ("1.", "invalid character ' ' after decimal point in numeric literal"),
            ("1e+x", "invalid character 'x' in exponent of numeric literal"),
            ("01", "invalid character '1' after top-level value"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("[1 2]", "invalid character '2' after array element"),
            (
                "{,}",
                "invalid character ',' looking for beginning of object key string",
            ),
            ("{\"a\",", "invalid character ',' after object key"),
            ("{\"a\":1]", "invalid character ']' after object key:value pair"),
            ("\"\n", "invalid character '\\n' in string literal"),
            ("\"\\'", "invalid character '\\'' in string escape code"),
            ("\"\\u12G", "invalid character 'G' in \\u hexadecimal character escape"),
            ("\u{e9}", "invalid character '\u{c3}' looking for beginning of value"),
            (&deep, "invalid character '[' exceeded max depth"),
            (
                "[1e999]",
                "json: cannot unmarshal number 1e999 into Go value of type float64",
            ),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err(), Failure::new(expected), "{text}");
        }
        let partial = call("fromJson", &["[1e999,1]".into()]).unwrap();
        assert_eq!(written("toJson", &partial).as_deref(), Ok("[null,1]"));
    }
}
