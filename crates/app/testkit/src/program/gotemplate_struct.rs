//! The Go struct `T` of the template tables, as static types.

use bumpwright_template::{
    ANY, Array, BOOL, BYTES, ERROR, FLOAT64, Failure, Field, Function, INT, IntKind, Map, Method, Pointer, STRING,
    STRINGS, Slice, Slot, Struct, StructType, Text, Type, UINT8, UintKind, Value,
};

static INNER: StructType = StructType {
    name: "main.Inner",
    fields: &[Field::new("Depth", &INT)],
    methods: &[value_method(Function::new("Describe", &[], &STRING, |_, args| {
        let depth = field(args.value(0)?, "Depth")?;
        let Value::Int(_, depth) = depth else {
            return Err(Failure::new("Depth is not an int"));
        };
        Ok(Value::text(format!("depth={depth}")))
    }))],
};
static INNER_TYPE: Type = Type::Struct(&INNER);

static KEY: StructType = StructType {
    name: "main.Key",
    fields: &[Field::new("B", &STRING), Field::new("A", &INT)],
    methods: &[],
};
static KEY_TYPE: Type = Type::Struct(&KEY);

static STRINGY: StructType = StructType {
    name: "main.Stringy",
    fields: &[Field::new("V", &STRING)],
    methods: &[value_method(Function::new("String", &[], &STRING, |_, args| {
        let mut text = b"<".to_vec();
        text.extend_from_slice(&text_of(args.value(0)?, "V")?);
        text.push(b'>');
        Ok(Value::text(text))
    }))],
};
static STRINGY_TYPE: Type = Type::Struct(&STRINGY);
static STRINGY_POINTER: Type = Type::Pointer(&STRINGY_TYPE);

/// `*errors.errorString`, whose method has a pointer receiver.
static ERROR_STRING: StructType = StructType {
    name: "errors.errorString",
    fields: &[Field::new("s", &STRING)],
    methods: &[Method {
        pointer: true,
        function: Function::new("Error", &[], &STRING, |_, args| {
            text_of(args.value(0)?, "s").map(Value::String)
        }),
    }],
};
static ERROR_STRING_TYPE: Type = Type::Struct(&ERROR_STRING);

static INT_ARRAY: Type = Type::Array(3, &INT);
static M: Type = Type::Map(&STRING, &INT);
static MI: Type = Type::Map(&INT, &STRING);
static MK: Type = Type::Map(&KEY_TYPE, &STRING);
static MB: Type = Type::Map(&BOOL, &INT);

static T: StructType = StructType {
    name: "main.T",
    fields: &[
        Field::embedded("Inner", &INNER_TYPE),
        Field::new("Name", &STRING),
        Field::new("N", &INT),
        Field::new("U", &UINT8),
        Field::new("F", &FLOAT64),
        Field::new("OK", &BOOL),
        Field::new("Tags", &STRINGS),
        Field::new("M", &M),
        Field::new("MI", &MI),
        Field::new("MK", &MK),
        Field::new("MB", &MB),
        Field::new("Nil", &T_POINTER),
        Field::new("Next", &T_POINTER),
        Field::new("Any", &ANY),
        Field::new("Str", &STRINGY_TYPE),
        Field::new("PStr", &STRINGY_POINTER),
        Field::new("Err", &ERROR),
        Field::new("Bytes", &BYTES),
        Field::new("Arr", &INT_ARRAY),
        Field::new("private", &STRING),
    ],
    methods: METHODS,
};
static T_TYPE: Type = Type::Struct(&T);
static T_POINTER: Type = Type::Pointer(&T_TYPE);

static METHODS: &[Method] = &[
    value_method(Function::new("Hello", &[], &STRING, |_, args| {
        let mut text = b"hello ".to_vec();
        text.extend_from_slice(&text_of(args.value(0)?, "Name")?);
        Ok(Value::text(text))
    })),
    value_method(Function::new("Add", &[&INT, &INT], &INT, |_, args| {
        Ok(Value::int(args.int(1)?.wrapping_add(args.int(2)?)))
    })),
    value_method(
        Function::new("Join", &[&STRING, &STRING], &STRING, |_, args| {
            let separator = args.text(1)?;
            let mut joined = Vec::new();
            for (index, part) in args.rest(2).iter().enumerate() {
                if index > 0 {
                    joined.extend_from_slice(separator);
                }
                if let Value::String(part) = part {
                    joined.extend_from_slice(part);
                }
            }
            Ok(Value::text(joined))
        })
        .variadic(),
    ),
    value_method(Function::new("Fail", &[&BOOL], &STRING, |_, args| {
        if args.bool(1)? {
            return Err(Failure::new("it failed"));
        }
        Ok(Value::text("fine"))
    })),
    value_method(Function::new("Self", &[], &T_TYPE, |_, args| {
        Ok(args.value(0)?.clone())
    })),
    Method {
        pointer: true,
        function: Function::new("PtrMethod", &[], &STRING, |_, args| {
            let mut text = b"ptr ".to_vec();
            text.extend_from_slice(&text_of(args.value(0)?, "Name")?);
            Ok(Value::text(text))
        }),
    },
    value_method(Function::new("Boom", &[], &STRING, |_, _| Err(Failure::new("boom!")))),
    value_method(Function::new("F1", &[&FLOAT64], &STRING, |host, args| {
        bumpwright_template::sprint(host, args.rest(1)).map(Value::text)
    })),
];

/// The value of `datatype` `T`.
pub fn t() -> Slot {
    Slot::of(first())
}

/// The value of `datatype` `*T`.
pub fn t_pointer() -> Slot {
    Slot::of(Value::Pointer(Pointer::new(&T_TYPE, first())))
}

const fn value_method(function: Function) -> Method {
    Method {
        pointer: false,
        function,
    }
}

fn field<'v>(receiver: &'v Value, name: &str) -> Result<&'v Value, Failure> {
    match receiver {
        Value::Struct(of) => of.field(name).ok_or_else(|| Failure::new("no such field")),
        _ => Err(Failure::new("not a struct")),
    }
}

fn text_of(receiver: &Value, name: &str) -> Result<Text, Failure> {
    match field(receiver, name)? {
        Value::String(text) => Ok(text.clone()),
        _ => Err(Failure::new("not a string")),
    }
}

/// A struct with zero values, except the given fields.
fn with(of: &'static StructType, given: Vec<(&str, Value)>) -> Value {
    let mut fields: Vec<Value> = of.fields.iter().map(|field| Value::zero(field.ty)).collect();
    for (name, value) in given {
        let index = of.fields.iter().position(|field| field.name == name);
        if let Some(place) = index.and_then(|index| fields.get_mut(index)) {
            *place = value;
        }
    }
    Value::Struct(Struct::new(of, fields))
}

fn first() -> Value {
    let key = |b: &str, a| with(&KEY, vec![("B", b.into()), ("A", Value::int(a))]);
    let second = with(&T, vec![("Name", "second".into()), ("N", Value::int(2))]);
    let stringy = |text: &str| with(&STRINGY, vec![("V", text.into())]);
    let error = with(&ERROR_STRING, vec![("s", "an error".into())]);
    let texts = |pairs: &[(i64, &str)]| -> Vec<(Value, Value)> {
        pairs
            .iter()
            .map(|(key, text)| (Value::int(*key), Value::text(*text)))
            .collect()
    };
    let numbers = [("two", 2), ("one", 1), ("three", 3)].map(|(key, number)| (Value::text(key), Value::int(number)));
    let keys = [("b", 1, "b1"), ("a", 2, "a2"), ("a", 1, "a1"), ("B", 9, "B9")];
    let bytes = b"bytes"
        .iter()
        .map(|byte| Value::Uint(UintKind::Uint8, u64::from(*byte)));
    let array = [1, 2, 3].map(|number| Value::Int(IntKind::Int, number));
    let truths = [(true, 1), (false, 0)].map(|(truth, number)| (Value::Bool(truth), Value::int(number)));
    with(
        &T,
        vec![
            ("Inner", with(&INNER, vec![("Depth", Value::int(4))])),
            ("Name", "first".into()),
            ("N", Value::int(7)),
            ("U", Value::Uint(UintKind::Uint8, 200)),
            ("F", Value::float(2.5)),
            ("OK", Value::Bool(true)),
            ("Tags", Value::strings(["x", "y", "z"])),
            ("M", Value::Map(Map::new(&STRING, &INT, numbers))),
            (
                "MI",
                Value::Map(Map::new(
                    &INT,
                    &STRING,
                    texts(&[(10, "ten"), (2, "two"), (-1, "minus")]),
                )),
            ),
            (
                "MK",
                Value::Map(Map::new(
                    &KEY_TYPE,
                    &STRING,
                    keys.map(|(b, a, text)| (key(b, a), text.into())),
                )),
            ),
            ("MB", Value::Map(Map::new(&BOOL, &INT, truths))),
            ("Next", Value::Pointer(Pointer::new(&T_TYPE, second))),
            ("Any", "anything".into()),
            ("Str", stringy("s")),
            ("PStr", Value::Pointer(Pointer::new(&STRINGY_TYPE, stringy("p")))),
            ("Err", Value::Pointer(Pointer::new(&ERROR_STRING_TYPE, error))),
            ("Bytes", Value::Slice(Slice::new(&UINT8, bytes.collect()))),
            ("Arr", Value::Array(Array::new(&INT, array.to_vec()))),
            ("private", "secret".into()),
        ],
    )
}
