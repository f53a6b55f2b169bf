//! Go's types, as far as templates can use them: what `%T` prints, what an argument may be assigned to.
//!
//! Types are statics that refer to each other, so that recursive structs cost nothing and comparing is cheap.

use std::fmt;

use super::failure::Failure;
use super::model::{Args, ComplexKind, Field, FloatKind, Function, IntKind, Method, Type, UintKind, Value};
use crate::exec::host::Host;

/// Go's `reflect.Kind`, grouped where templates do not distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    Bool,
    Int,
    Uint,
    Float,
    Complex,
    String,
    Interface,
    Slice,
    Array,
    Map,
    Pointer,
    Struct,
}

pub static ANY: Type = Type::Interface("interface {}");

pub static ERROR: Type = Type::Interface("error");

pub static BOOL: Type = Type::Bool;

pub static STRING: Type = Type::String;

pub static INT: Type = Type::Int(IntKind::Int);

pub static INT64: Type = Type::Int(IntKind::Int64);

/// `uint8`, which is also `byte`
pub static UINT8: Type = Type::Uint(UintKind::Uint8);

pub static UINT32: Type = Type::Uint(UintKind::Uint32);

pub static UINT64: Type = Type::Uint(UintKind::Uint64);

pub static FLOAT64: Type = Type::Float(FloatKind::Float64);

pub static BYTES: Type = Type::Slice(&UINT8);

pub static INTS: Type = Type::Slice(&INT);

pub static STRINGS: Type = Type::Slice(&STRING);

pub static LIST: Type = Type::Slice(&ANY);

pub static LISTS: Type = Type::Slice(&LIST);

pub static DICT: Type = Type::Map(&STRING, &ANY);

pub static STRING_MAP: Type = Type::Map(&STRING, &STRING);

pub(crate) static REFLECT: Type = Type::Reflect;

impl Type {
    /// Go's `Type.Kind()`.
    pub fn kind(&self) -> TypeKind {
        match self {
            Self::Bool => TypeKind::Bool,
            Self::Int(_) => TypeKind::Int,
            Self::Uint(_) => TypeKind::Uint,
            Self::Float(_) => TypeKind::Float,
            Self::Complex(_) => TypeKind::Complex,
            Self::String => TypeKind::String,
            Self::Interface(_) => TypeKind::Interface,
            Self::Slice(_) => TypeKind::Slice,
            Self::Array(..) => TypeKind::Array,
            Self::Map(..) => TypeKind::Map,
            Self::Pointer(_) => TypeKind::Pointer,
            Self::Struct(_) | Self::Reflect => TypeKind::Struct,
            Self::Named(named) => named.underlying.kind(),
        }
    }

    /// The name of the kind as Go spells it: `int64`, `map`, `ptr`.
    pub fn kind_name(&self) -> String {
        match self {
            Self::Interface(_) => "interface".to_owned(),
            Self::Slice(_) => "slice".to_owned(),
            Self::Array(..) => "array".to_owned(),
            Self::Map(..) => "map".to_owned(),
            Self::Pointer(_) => "ptr".to_owned(),
            Self::Struct(_) | Self::Reflect => "struct".to_owned(),
            Self::Named(named) => named.underlying.kind_name(),
            basic => basic.to_string(),
        }
    }

    pub fn underlying(&self) -> Type {
        match self {
            Self::Named(named) => *named.underlying,
            other => *other,
        }
    }

    /// Whether it is an interface; `interface {}` accepts every value.
    pub fn is_interface(&self) -> bool {
        matches!(self, Self::Interface(_))
    }

    /// Whether it is `interface {}` itself.
    pub(crate) fn is_any(&self) -> bool {
        matches!(self, Self::Interface("interface {}"))
    }

    /// Whether an untyped nil can be assigned to it (`text/template`, `canBeNil`).
    pub(crate) fn can_be_nil(&self) -> bool {
        matches!(self, Self::Reflect)
            || matches!(
                self.kind(),
                TypeKind::Interface | TypeKind::Map | TypeKind::Pointer | TypeKind::Slice
            )
    }

    /// The own methods of the type; none if it has no name. For a pointer, those of its target.
    pub fn methods(&self) -> &'static [Method] {
        match self {
            Self::Struct(of) => of.methods,
            Self::Named(of) => of.methods,
            Self::Pointer(to) => to.methods(),
            _ => &[],
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool, Self::Bool) | (Self::String, Self::String) | (Self::Reflect, Self::Reflect) => true,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Uint(a), Self::Uint(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Complex(a), Self::Complex(b)) => a == b,
            (Self::Interface(a), Self::Interface(b)) => a == b,
            (Self::Slice(a), Self::Slice(b)) | (Self::Pointer(a), Self::Pointer(b)) => a == b,
            (Self::Array(m, a), Self::Array(n, b)) => m == n && a == b,
            (Self::Map(k, a), Self::Map(l, b)) => k == l && a == b,
            (Self::Struct(a), Self::Struct(b)) => std::ptr::eq(*a, *b),
            (Self::Named(a), Self::Named(b)) => std::ptr::eq(*a, *b),
            _ => false,
        }
    }
}

/// Types refer to each other in cycles.
impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Type {
    /// As Go's `Type.String()` and `%T` print it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Bool => "bool",
            Self::Int(IntKind::Int) => "int",
            Self::Int(IntKind::Int8) => "int8",
            Self::Int(IntKind::Int16) => "int16",
            Self::Int(IntKind::Int32) => "int32",
            Self::Int(IntKind::Int64) => "int64",
            Self::Uint(UintKind::Uint) => "uint",
            Self::Uint(UintKind::Uint8) => "uint8",
            Self::Uint(UintKind::Uint16) => "uint16",
            Self::Uint(UintKind::Uint32) => "uint32",
            Self::Uint(UintKind::Uint64) => "uint64",
            Self::Uint(UintKind::Uintptr) => "uintptr",
            Self::Float(FloatKind::Float32) => "float32",
            Self::Float(FloatKind::Float64) => "float64",
            Self::Complex(ComplexKind::Complex64) => "complex64",
            Self::Complex(ComplexKind::Complex128) => "complex128",
            Self::String => "string",
            Self::Interface(name) => name,
            Self::Struct(of) => of.name,
            Self::Named(of) => of.name,
            Self::Reflect => "reflect.Value",
            Self::Slice(item) => return write!(f, "[]{item}"),
            Self::Array(length, item) => return write!(f, "[{length}]{item}"),
            Self::Map(key, value) => return write!(f, "map[{key}]{value}"),
            Self::Pointer(to) => return write!(f, "*{to}"),
        };
        f.write_str(name)
    }
}

impl Method {
    /// A method of `T`, which `*T` has as well.
    pub const fn new(
        name: &'static str,
        params: &'static [&'static Type],
        result: &'static Type,
        body: fn(&mut Host<'_>, Args<'_>) -> Result<Value, Failure>,
    ) -> Self {
        Self {
            pointer: false,
            function: Function::new(name, params, result, body),
        }
    }

    /// The same as a method of `*T` alone.
    pub const fn of_pointer(mut self) -> Self {
        self.pointer = true;
        self
    }
}

impl Field {
    /// A field with a name of its own.
    pub const fn new(name: &'static str, ty: &'static Type) -> Self {
        Self {
            name,
            ty,
            embedded: false,
            json: "",
        }
    }

    /// An embedded field; `name` is that of its type.
    pub const fn embedded(name: &'static str, ty: &'static Type) -> Self {
        Self {
            name,
            ty,
            embedded: true,
            json: "",
        }
    }

    /// The same field with a tag for `encoding/json`.
    pub const fn json(mut self, tag: &'static str) -> Self {
        self.json = tag;
        self
    }

    /// Whether templates may read it: its name has a capital letter.
    pub fn is_exported(&self) -> bool {
        self.name.chars().next().is_some_and(char::is_uppercase)
    }
}
