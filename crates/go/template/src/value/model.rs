//! Go's values, types and functions: they refer to each other, so they are in one file. What they can do is in others.

use std::ops::Deref;
use std::rc::Rc;

use super::error::Error;
use super::failure::{Failure, NestedError};
use super::held::HELD;
use super::map::Map;
use super::text::Text;
use crate::exec::host::Host;

/// A value with its dynamic type.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Untyped nil: the content of a nil interface.
    #[default]
    Nil,
    Bool(bool),
    Int(IntKind, i64),
    Uint(UintKind, u64),
    /// A floating-point number; of a `float32` the value is one that fits.
    Float(FloatKind, f64),
    /// A complex number: real and imaginary part.
    Complex(ComplexKind, f64, f64),
    String(Text),
    /// A slice, perhaps nil.
    Slice(Slice),
    Array(Array),
    /// A map, perhaps nil.
    Map(Map),
    Struct(Struct),
    /// A pointer, perhaps nil.
    Pointer(Pointer),
    /// A value of a named type, over a value that is neither `Named` nor a struct.
    Named(&'static NamedType, Rc<Value>),
}

/// A slice `[]T`, which may be nil.
#[derive(Clone, Debug)]
pub struct Slice {
    /// `T`; when it is an interface, the items are the contents of the interfaces.
    pub item: &'static Type,
    pub(crate) items: Option<Items>,
}

/// An array `[N]T`; N is the number of its items.
#[derive(Clone, Debug)]
pub struct Array {
    pub item: &'static Type,
    pub(crate) items: Items,
}

/// A struct of Go: its type, and the values of its fields in their order.
#[derive(Clone, Debug)]
pub struct Struct {
    pub of: &'static StructType,
    pub(crate) fields: Items,
}

/// A pointer `*T`, where `to` is T.
#[derive(Clone, Debug)]
pub struct Pointer {
    pub to: &'static Type,
    /// The value that it points to; `None` is nil.
    pub target: Option<Rc<Value>>,
}

/// Bytes that a list takes besides its items.
pub const LIST_BYTES: usize = 64;

/// A function of a template, or a method of a type.
#[derive(Debug)]
pub struct Function {
    /// Its name in templates.
    pub name: &'static str,
    /// Go's parameter types. Of a variadic function the last one is the type of each further argument.
    pub params: &'static [&'static Type],
    /// Whether the last parameter may be repeated or left out.
    pub variadic: bool,
    /// Go's result type; a second result `error` is in the `Result` of the body.
    pub result: &'static Type,
    pub body: Body,
}

/// The body of a function. The evaluator has checked the arguments against the parameters, as Go's does: `int`
/// parameters hold [`Value::Int`], `interface {}` ones any value, with [`Value::Nil`] for nil.
#[derive(Clone, Copy)]
pub enum Body {
    /// Over plain values.
    Plain(fn(&mut Host<'_>, Args<'_>) -> Result<Value, Failure>),
    /// Over values as `reflect` sees them, for the built-in functions.
    Reflect(fn(&mut Host<'_>, &[Slot]) -> Result<Slot, Failure>),
    /// `and` and `or`, which leave arguments unevaluated: the first whose truth is `decisive` is the
    /// result, else the last.
    Choice {
        /// `false` for `and`.
        decisive: bool,
    },
    /// `call`, whose first argument would be a function.
    Call,
    /// Over plain values, with the templates of the set that is being executed.
    Nested(fn(&mut Nested<'_, '_, '_>, Args<'_>) -> Result<Value, Failure>),
    /// A method that Go refuses to call because of its results, with Go's text.
    Uncallable(&'static str),
}

/// The arguments of a call, in order; of a method, the receiver first.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(pub &'a [Value]);

/// A place that holds a value, as `reflect.Value` describes it.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// The value in it, within all interfaces.
    pub value: Value,
    /// The interface type of the place, if it has one. Without it, [`Value::Nil`] is `reflect`'s zero Value: nothing.
    pub interface: Option<&'static Type>,
    /// Whether the place is addressable, so that methods of `*T` can be called on a `T`.
    pub addressable: bool,
}

/// Executes templates for functions that are called while a template is being executed.
pub(crate) trait Executes {
    /// Renders the template of this name.
    fn render(&self, name: &str, data: &Slot, host: &mut Host<'_>) -> Result<Vec<u8>, Error>;

    /// Parses a text under the name of the set and renders it; what it defines is known to it alone.
    fn render_text(&self, text: &str, data: &Slot, host: &mut Host<'_>) -> Result<Vec<u8>, NestedError>;
}

/// The execution that a function was called in, and its set of templates.
pub struct Nested<'t, 'h, 'w> {
    pub(crate) host: &'h mut Host<'w>,
    pub(crate) set: &'t dyn Executes,
}

/// A Go type, as `reflect` tells them apart.
#[derive(Clone, Copy)]
pub enum Type {
    Bool,
    Int(IntKind),
    Uint(UintKind),
    Float(FloatKind),
    Complex(ComplexKind),
    /// `string`: bytes, often UTF-8.
    String,
    /// An interface by its printed name: `interface {}` or `error`.
    Interface(&'static str),
    /// `[]T`
    Slice(&'static Type),
    /// `[N]T`
    Array(usize, &'static Type),
    /// `map[K]V`
    Map(&'static Type, &'static Type),
    /// `*T`
    Pointer(&'static Type),
    /// A named struct type.
    Struct(&'static StructType),
    /// A named type, perhaps with methods, over a type that is not a struct: `time.Duration`.
    Named(&'static NamedType),
    /// `reflect.Value`: a parameter that accepts any place, for the built-in functions.
    Reflect,
}

/// Signed integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// The names are Go's.
pub enum IntKind {
    Int,
    Int8,
    Int16,
    Int32,
    Int64,
}

/// The sizes of unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UintKind {
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Uintptr,
}

/// The sizes of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatKind {
    Float32,
    Float64,
}

/// The sizes of complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComplexKind {
    Complex64,
    Complex128,
}

/// A struct type with its fields and methods.
#[derive(Debug)]
pub struct StructType {
    /// With its package: `update.Change`.
    pub name: &'static str,
    /// The fields in the order of declaration.
    pub fields: &'static [Field],
    /// Its own methods, not those of embedded fields.
    pub methods: &'static [Method],
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// For an embedded field the name of its type without the package.
    pub name: &'static str,
    pub ty: &'static Type,
    /// Whether its fields and methods are promoted.
    pub embedded: bool,
    /// Its tag for `encoding/json`, `name,omitempty`; empty when it has none.
    pub json: &'static str,
}

/// A named type over another that is not a struct.
#[derive(Debug)]
pub struct NamedType {
    /// With its package: `time.Duration`.
    pub name: &'static str,
    /// The underlying type; never `Named` itself.
    pub underlying: &'static Type,
    pub methods: &'static [Method],
}

/// A method. Its function gets the receiver as the first argument, always dereferenced, besides the parameters.
#[derive(Debug)]
pub struct Method {
    /// Whether the receiver is `*T`: then only pointers and addressable values have it.
    pub pointer: bool,
    /// The function; its `params` omit the receiver.
    pub function: Function,
}

/// The elements of a slice or an array, or the fields of a struct; clones share them. They are dropped one after the
/// other, so that a deep nesting needs no deep stack.
#[derive(Clone, Debug)]
pub(crate) struct Items(Rc<[Value]>);

impl Items {
    pub(crate) fn new(items: Rc<[Value]>) -> Self {
        let items = Self(items);
        HELD.set(HELD.get().saturating_add(items.bytes()));
        items
    }

    /// Whether both are the same values, not only equal ones.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    fn bytes(&self) -> usize {
        LIST_BYTES.saturating_add(size_of_val(&*self.0))
    }

    /// Moves the values that hold others into `left`, if these items are not shared.
    fn take_apart(&mut self, left: &mut Vec<Value>) {
        if let Some(items) = Rc::get_mut(&mut self.0) {
            left.extend(items.iter_mut().filter(|item| holds_others(item)).map(std::mem::take));
        }
    }
}

impl Deref for Items {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        if Rc::strong_count(&self.0) > 1 {
            return;
        }
        HELD.set(HELD.get().saturating_sub(self.bytes()));
        let mut left = Vec::new();
        self.take_apart(&mut left);
        drop_flat(left);
    }
}

/// Drops values and everything that only they hold.
pub(crate) fn drop_flat(mut left: Vec<Value>) {
    while let Some(value) = left.pop() {
        match value {
            Value::Slice(Slice {
                items: Some(mut items), ..
            })
            | Value::Array(Array { mut items, .. })
            | Value::Struct(Struct { fields: mut items, .. }) => items.take_apart(&mut left),
            Value::Map(map) => map.take_apart(&mut left),
            Value::Pointer(Pointer {
                target: Some(target), ..
            }) => left.extend(Rc::try_unwrap(target)),
            Value::Named(_, inner) => left.extend(Rc::try_unwrap(inner)),
            _ => {}
        }
    }
}

/// Whether a value can contain others.
pub(crate) fn holds_others(value: &Value) -> bool {
    matches!(
        value,
        Value::Slice(_) | Value::Array(_) | Value::Struct(_) | Value::Map(_) | Value::Pointer(_) | Value::Named(..)
    )
}
