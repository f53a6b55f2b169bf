//! Prints values by their kinds, recursively.

use super::sprint::Printer;
use super::verb_integer::Integer;
use crate::exec::host::Host;
use crate::value::failure::Failure;
use crate::value::go_type::{TypeKind, UINT8};
use crate::value::map::Map;
use crate::value::model::{ComplexKind, Field, FloatKind, Pointer, Slot, Struct, Type, Value};

/// The text of a pointer: Go prints its address, which is not constant.
const ADDRESS: u64 = 0x00c0_0001_0000;

/// Whether Go's `reflect` allows calls of a value's methods: not behind an unexported field.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    Open,
    /// An unexported embedded struct: its exported fields are accessible again.
    Embedded,
    Closed,
}

/// The place of a value within the operand.
#[derive(Clone, Copy)]
struct Place {
    /// The interface type of the place, if it has one: the type of a nil in it.
    interface: Option<&'static Type>,
    depth: usize,
    access: Access,
}

impl Printer<'_> {
    /// One operand under a verb (Go's `printArg`).
    pub(crate) fn operand(&mut self, host: &mut Host<'_>, value: &Value, verb: char) -> Result<(), Failure> {
        self.last = None;
        match (verb, value) {
            ('T' | 'v', Value::Nil) => self.pad(host, b"<nil>"),
            (_, Value::Nil) => self.bad_verb(host, verb, None),
            ('T', _) => self.plain(host, value.type_name().as_bytes()),
            ('p', _) => self.pointer(host, value, verb),
            (_, Value::Slice(slice)) if *slice.item == UINT8 => {
                if "vdsxXq".contains(verb) {
                    return self.bytes(host, value, verb);
                }
                self.nested(host, value, verb, Place::operand())
            }
            (_, Value::Slice(_) | Value::Array(_) | Value::Map(_) | Value::Struct(_))
            | (_, Value::Pointer(_) | Value::Named(..)) => {
                if self.by_method(host, value, verb)? {
                    return Ok(());
                }
                self.nested(host, value, verb, Place::operand())
            }
            _ => self.simple(host, value, verb),
        }
    }

    /// Reports a verb that does not fit: `%!d(string=hi)`. Without a value this is nil, or with `%w` the value visited
    /// before.
    pub(crate) fn bad_verb(&mut self, host: &mut Host<'_>, verb: char, value: Option<&Value>) -> Result<(), Failure> {
        self.erroring = true;
        self.put(host, format!("%!{verb}(").as_bytes())?;
        match (value, self.last.take()) {
            (Some(value), _) => {
                self.put(host, value.type_name().as_bytes())?;
                self.put(host, b"=")?;
                self.operand(host, value, 'v')?;
            }
            (None, Some(last)) => {
                if let Some(name) = last.type_of() {
                    self.put(host, name.to_string().as_bytes())?;
                }
                self.put(host, b"=")?;
                let place = Place {
                    interface: last.interface,
                    ..Place::operand()
                };
                self.nested(host, &last.value, 'v', place)?;
            }
            (None, None) => self.put(host, b"<nil>")?,
        }
        self.erroring = false;
        self.put(host, b")")
    }

    /// A value without others in it.
    fn simple(&mut self, host: &mut Host<'_>, value: &Value, verb: char) -> Result<(), Failure> {
        match value.bare() {
            Value::Bool(truth) if matches!(verb, 't' | 'v') => self.pad(host, if *truth { b"true" } else { b"false" }),
            Value::Int(_, number) => self.integer(host, Integer::signed(*number), verb, value),
            Value::Uint(_, number) => self.integer(host, Integer::unsigned(*number), verb, value),
            Value::Float(FloatKind::Float32, number) => self.float(host, *number, 32, verb, value),
            Value::Float(FloatKind::Float64, number) => self.float(host, *number, 64, verb, value),
            Value::Complex(ComplexKind::Complex64, a, b) => self.complex(host, (*a, *b), 32, verb, value),
            Value::Complex(ComplexKind::Complex128, a, b) => self.complex(host, (*a, *b), 64, verb, value),
            Value::String(text) => self.text(host, text, verb, value),
            _ => self.bad_verb(host, verb, Some(value)),
        }
    }

    /// A value at a place (Go's `printValue`).
    fn nested(&mut self, host: &mut Host<'_>, value: &Value, verb: char, place: Place) -> Result<(), Failure> {
        host.step(1)?;
        if place.depth > 0 && place.access == Access::Open && self.by_method(host, value, verb)? {
            return Ok(());
        }
        if self.watching {
            self.last = Some(Slot::of(value.clone()));
        }
        match value.bare() {
            Value::Nil => self.nil(host, verb, place),
            Value::Map(_) | Value::Struct(_) | Value::Slice(_) | Value::Array(_) => {
                host.deeper(|host| self.container(host, value, verb, place))
            }
            Value::Pointer(Pointer {
                to,
                target: Some(target),
            }) if place.depth == 0
                && matches!(
                    to.kind(),
                    TypeKind::Array | TypeKind::Slice | TypeKind::Struct | TypeKind::Map
                ) =>
            {
                self.put(host, b"&")?;
                self.nested(host, target, verb, place.inside(to))
            }
            Value::Pointer(_) => self.pointer(host, value, verb),
            _ => self.simple(host, value, verb),
        }
    }

    fn nil(&mut self, host: &mut Host<'_>, verb: char, place: Place) -> Result<(), Failure> {
        let Some(interface) = place.interface else {
            return match verb {
                'v' => self.put(host, b"<nil>"),
                _ => self.bad_verb(host, verb, None),
            };
        };
        if self.watching {
            self.last = Some(Slot::in_place(Value::Nil, interface, false));
        }
        if self.flags.sharp_v {
            return self.put(host, format!("{interface}(nil)").as_bytes());
        }
        self.put(host, b"<nil>")
    }

    /// A value that contains others.
    fn container(&mut self, host: &mut Host<'_>, value: &Value, verb: char, place: Place) -> Result<(), Failure> {
        let item = match value.bare() {
            Value::Map(map) => return self.map(host, value, map, verb, place),
            Value::Struct(of) => return self.structure(host, of, verb, place),
            Value::Slice(slice) => slice.item,
            Value::Array(array) => array.item,
            _ => return Ok(()),
        };
        if matches!(verb, 's' | 'q' | 'x' | 'X') && item.underlying() == UINT8 {
            return self.bytes(host, value, verb);
        }
        let sharp = self.flags.sharp_v;
        if sharp {
            self.put(host, value.type_name().as_bytes())?;
            if value.is_nil() {
                return self.put(host, b"(nil)");
            }
        }
        self.put(host, if sharp { b"{" } else { b"[" })?;
        for (index, each) in value.elements().iter().enumerate() {
            self.separator(host, index)?;
            self.nested(host, each, verb, place.inside(item))?;
        }
        self.put(host, if sharp { b"}" } else { b"]" })
    }

    fn map(&mut self, host: &mut Host<'_>, value: &Value, map: &Map, verb: char, place: Place) -> Result<(), Failure> {
        let sharp = self.flags.sharp_v;
        if sharp {
            self.put(host, value.type_name().as_bytes())?;
            if map.is_nil() {
                return self.put(host, b"(nil)");
            }
        }
        self.put(host, if sharp { b"{" } else { b"map[" })?;
        for (index, (key, each)) in map.counted_entries(host)?.iter().enumerate() {
            self.separator(host, index)?;
            self.nested(host, key, verb, place.inside(map.key))?;
            self.put(host, b":")?;
            self.nested(host, each, verb, place.inside(map.item))?;
        }
        self.put(host, if sharp { b"}" } else { b"]" })
    }

    fn structure(&mut self, host: &mut Host<'_>, of: &Struct, verb: char, place: Place) -> Result<(), Failure> {
        if self.flags.sharp_v {
            self.put(host, of.of.name.as_bytes())?;
        }
        self.put(host, b"{")?;
        for (index, (field, each)) in of.of.fields.iter().zip(of.fields()).enumerate() {
            self.separator(host, index)?;
            if self.flags.plus_v || self.flags.sharp_v {
                self.put(host, field.name.as_bytes())?;
                self.put(host, b":")?;
            }
            self.nested(host, each, verb, place.field(field))?;
        }
        self.put(host, b"}")
    }

    /// The text before the element at `index`.
    fn separator(&mut self, host: &mut Host<'_>, index: usize) -> Result<(), Failure> {
        match (index, self.flags.sharp_v) {
            (0, _) => Ok(()),
            (_, true) => self.put(host, b", "),
            (_, false) => self.put(host, b" "),
        }
    }

    /// A slice or an array of bytes, under a verb that prints it as a whole.
    fn bytes(&mut self, host: &mut Host<'_>, value: &Value, verb: char) -> Result<(), Failure> {
        let items = value.elements();
        host.produce(items.len())?;
        let bytes: Vec<u8> = items
            .iter()
            .map(|item| match item.bare() {
                Value::Uint(_, byte) => *byte as u8,
                _ => 0,
            })
            .collect();
        match verb {
            's' => return self.plain(host, &bytes),
            'x' | 'X' => return self.hex(host, &bytes, verb),
            'q' => return self.quoted(host, &bytes),
            _ => {}
        }
        let sharp = self.flags.sharp_v;
        if sharp {
            self.put(host, b"[]byte")?;
            if value.is_nil() {
                return self.put(host, b"(nil)");
            }
        }
        self.put(host, if sharp { b"{" } else { b"[" })?;
        for (index, byte) in bytes.iter().enumerate() {
            self.separator(host, index)?;
            if sharp {
                self.address(host, u64::from(*byte), true)?;
            } else {
                self.digits(host, Integer::unsigned(u64::from(*byte)), 10, verb)?;
            }
        }
        self.put(host, if sharp { b"}" } else { b"]" })
    }

    /// The text of the address that a value refers to.
    fn pointer(&mut self, host: &mut Host<'_>, value: &Value, verb: char) -> Result<(), Failure> {
        if !matches!(value.bare(), Value::Pointer(_) | Value::Map(_) | Value::Slice(_)) {
            return self.bad_verb(host, verb, Some(value));
        }
        let address = if value.is_nil() { 0 } else { ADDRESS };
        match verb {
            'v' if self.flags.sharp_v => {
                self.put(host, b"(")?;
                self.put(host, value.type_name().as_bytes())?;
                self.put(host, b")(")?;
                if address == 0 {
                    self.put(host, b"nil")?;
                } else {
                    self.address(host, address, true)?;
                }
                self.put(host, b")")
            }
            'v' if address == 0 => self.pad(host, b"<nil>"),
            'v' | 'p' => self.address(host, address, !self.flags.sharp),
            'b' | 'o' | 'd' | 'x' | 'X' => self.integer(host, Integer::unsigned(address), verb, value),
            _ => self.bad_verb(host, verb, Some(value)),
        }
    }
}

impl Place {
    fn operand() -> Self {
        Self {
            interface: None,
            depth: 0,
            access: Access::Open,
        }
    }

    /// The place of an element of that type.
    fn inside(self, item: &'static Type) -> Self {
        Self {
            interface: item.is_interface().then_some(item),
            depth: self.depth + 1,
            access: match self.access {
                Access::Open => Access::Open,
                Access::Embedded | Access::Closed => Access::Closed,
            },
        }
    }

    /// The place of a field.
    fn field(self, field: &'static Field) -> Self {
        let access = match self.access {
            Access::Closed => Access::Closed,
            _ if field.is_exported() => Access::Open,
            // The content of an interface is not the embedded struct itself.
            _ if field.embedded && !field.ty.is_interface() => Access::Embedded,
            _ => Access::Closed,
        };
        Self {
            access,
            ..self.inside(field.ty)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::print::sprint::tests::formatted;
    use crate::{ANY, Array, ERROR, Function, INT, INT64, Method, NamedType, STRING, Slice, StructType};

    const fn string_method(pointer: bool) -> Method {
        Method {
            pointer,
            function: Function::new("String", &[], &STRING, |_, args| match args.value(0)?.bare() {
                Value::Struct(of) if of.fields().is_empty() => Err(Failure::new("no fields")),
                Value::Int(_, 0) => Ok(Value::text("zero")),
                _ => Ok(Value::text("text")),
            }),
        }
    }

    static COUNT: NamedType = NamedType {
        name: "main.Count",
        underlying: &INT64,
        methods: &[string_method(false)],
    };
    static COUNT_TYPE: Type = Type::Named(&COUNT);
    static BY_POINTER: StructType = StructType {
        name: "main.ByPointer",
        fields: &[Field::new("Name", &STRING)],
        methods: &[string_method(true)],
    };
    static BY_POINTER_TYPE: Type = Type::Struct(&BY_POINTER);
    static EMPTY: StructType = StructType {
        name: "main.Empty",
        fields: &[],
        methods: &[string_method(false)],
    };
    static INNER: StructType = StructType {
        name: "main.inner",
        fields: &[Field::new("Open", &COUNT_TYPE), Field::new("closed", &COUNT_TYPE)],
        methods: &[],
    };
    static INNER_TYPE: Type = Type::Struct(&INNER);
    static OUTER: StructType = StructType {
        name: "main.Outer",
        fields: &[
            Field::embedded("inner", &INNER_TYPE),
            Field::new("any", &ANY),
            Field::new("Err", &ERROR),
            Field::new("Next", &Type::Pointer(&BY_POINTER_TYPE)),
        ],
        methods: &[],
    };
    static BY_POINTER_POINTER: Type = Type::Pointer(&BY_POINTER_TYPE);
    static OUTER_TYPE: Type = Type::Struct(&OUTER);

    fn count(number: i64) -> Value {
        Value::named(&COUNT, Value::int64(number))
    }

    fn by_pointer() -> Value {
        Value::Struct(Struct::new(&BY_POINTER, vec![Value::text("n")]))
    }

    fn outer(next: Value) -> Value {
        let inner = Value::Struct(Struct::new(&INNER, vec![count(0), count(0)]));
        Value::Struct(Struct::new(&OUTER, vec![inner, count(0), Value::Nil, next]))
    }

    #[test]
    fn structs_show_their_fields_and_call_methods_of_exported_ones() {
        let nil = Value::zero(&BY_POINTER_POINTER);
        let pointer = Value::Pointer(Pointer::new(&BY_POINTER_TYPE, by_pointer()));
        for (format, value, expected) in [
            ("%v", outer(nil.clone()), "{{zero 0} 0 <nil> <nil>}"),
            (
                "%+v",
                outer(nil.clone()),
                "{inner:{Open:zero closed:0} any:0 Err:<nil> Next:<nil>}",
            ),
            (
                "%#v",
                outer(nil),
                "main.Outer{inner:main.inner{Open:0, closed:0}, any:0, Err:error(nil), Next:(*main.ByPointer)(nil)}",
            ),
            (
                "%d",
                Value::Pointer(Pointer::new(&OUTER_TYPE, outer(pointer))),
                "&{{0 0} 0 <nil> 824633786368}",
            ),
        ] {
            assert_eq!(formatted(format, &[value]), expected);
        }
    }

    #[test]
    fn methods_of_pointers_need_pointers() {
        let pointer = Value::Pointer(Pointer::new(&BY_POINTER_TYPE, by_pointer()));
        assert_eq!(
            formatted("%v %v %x", &[by_pointer(), pointer.clone(), pointer]),
            "{n} text 74657874"
        );
        let nil = Value::zero(&BY_POINTER_POINTER);
        assert_eq!(formatted("%v|%s|%d", &[nil.clone(), nil.clone(), nil]), "<nil>|<nil>|0");
    }

    #[test]
    fn a_panic_costs_the_width_of_what_follows() {
        let panics = Value::Struct(Struct::new(&EMPTY, Vec::new()));
        let list = Value::list(vec![Value::int(1), panics, Value::int(1)]);
        assert_eq!(formatted("%3v", &[list]), "[  1 %!v(PANIC=String method: no fields) 1]");
    }

    #[test]
    fn containers_print_by_kind() {
        let bytes = |items: &[u64]| {
            let items = items.iter().map(|byte| Value::Uint(crate::UintKind::Uint8, *byte));
            items.collect::<Vec<_>>()
        };
        let slice = Value::Slice(Slice::new(&UINT8, bytes(b"hi".map(u64::from).as_slice())));
        let array = Value::Array(Array::new(&UINT8, bytes(&[1, 255])));
        let list = Value::list(vec![Value::Nil, slice.clone(), Value::text("x")]);
        let dict = Value::dict([("b", Value::float(1e6)), ("a", Value::list(Vec::new()))]);
        for (format, value, expected) in [
            (
                "%v %d %s %x %q %o",
                &slice,
                r#"[104 105] [104 105] hi 6869 "hi" [150 151]"#,
            ),
            ("%#v %T %5v", &slice, "[]byte{0x68, 0x69} []uint8 [  104   105]"),
            ("%v %x %#v", &array, "[1 255] 01ff [2]uint8{0x1, 0xff}"),
            ("%v %s", &list, "[<nil> [104 105] x] [<nil> hi x]"),
            (
                "%#v %d",
                &list,
                r#"[]interface {}{interface {}(nil), []uint8{0x68, 0x69}, "x"} [<nil> [104 105] %!d(string=x)]"#,
            ),
            (
                "%v %#v",
                &dict,
                r#"map[a:[] b:1e+06] map[string]interface {}{"a":[]interface {}{}, "b":1e+06}"#,
            ),
            ("%p %t", &array, "%!p([2]uint8=[1 255]) [%!t(uint8=1) %!t(uint8=255)]"),
        ] {
            let operands = vec![value.clone(); format.matches('%').count()];
            assert_eq!(formatted(format, &operands), expected);
        }
        assert_eq!(
            formatted("%v %+d %T", &[Value::Nil, Value::Nil, Value::Nil]),
            "<nil> %!d(<nil>) <nil>"
        );
        assert_eq!(
            formatted("%v", &[Value::Pointer(Pointer::new(&INT, Value::int(1)))]),
            "0xc000010000"
        );
    }
}
