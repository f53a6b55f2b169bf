//! Go's values, as far as templates can use them.
//!
//! A [`Value`] is the content of an `interface {}`. The place that holds it is a [`Slot`](crate::Slot).
//!
//! Maps are shared and can change, as in Go; everything else is immutable, and cheap to clone.

use std::rc::Rc;

use super::failure::Failure;
use super::go_type::{ANY, STRING};
use super::map::Map;
use super::model::{Array, FloatKind, IntKind, Items, NamedType, Pointer, Slice, Struct, StructType, Type, Value};
use super::text::Text;
use crate::exec::host::Host;

/// Bytes that a string takes besides its content.
pub const STRING_BYTES: usize = 32;

impl Value {
    /// A `string`.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::String(text.into())
    }

    pub fn int(number: i64) -> Self {
        Self::Int(IntKind::Int, number)
    }

    pub fn int64(number: i64) -> Self {
        Self::Int(IntKind::Int64, number)
    }

    pub fn float(number: f64) -> Self {
        Self::Float(FloatKind::Float64, number)
    }

    /// A `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Self {
        Self::Slice(Slice::new(&ANY, items))
    }

    /// A `[]string`.
    pub fn strings<T: Into<Text>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::Slice(Slice::sharing(&STRING, items.into_iter().map(Self::text).collect()))
    }

    /// A `map[string]interface {}`.
    pub fn dict<T: Into<Text>>(entries: impl IntoIterator<Item = (T, Value)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (Self::text(key), value));
        Self::Map(Map::new(&STRING, &ANY, entries))
    }

    /// A value of a named type, which is neither a struct nor named itself.
    pub fn named(of: &'static NamedType, value: Value) -> Self {
        Self::Named(of, Rc::new(value))
    }

    /// The dynamic type; `None` for nil.
    pub fn type_of(&self) -> Option<Type> {
        Some(match self {
            Self::Nil => return None,
            Self::Bool(_) => Type::Bool,
            Self::Int(kind, _) => Type::Int(*kind),
            Self::Uint(kind, _) => Type::Uint(*kind),
            Self::Float(kind, _) => Type::Float(*kind),
            Self::Complex(kind, ..) => Type::Complex(*kind),
            Self::String(_) => Type::String,
            Self::Slice(slice) => Type::Slice(slice.item),
            Self::Array(array) => Type::Array(array.items().len(), array.item),
            Self::Map(map) => Type::Map(map.key, map.item),
            Self::Struct(of) => Type::Struct(of.of),
            Self::Pointer(pointer) => Type::Pointer(pointer.to),
            Self::Named(named, _) => Type::Named(named),
        })
    }

    /// Go's name of the dynamic type.
    pub(crate) fn type_name(&self) -> String {
        self.type_of().map_or_else(|| "<nil>".to_owned(), |ty| ty.to_string())
    }

    /// The value without the name of its type.
    pub fn bare(&self) -> &Value {
        match self {
            Self::Named(_, value) => value,
            other => other,
        }
    }

    /// Whether it is untyped nil, or a nil slice, map or pointer.
    pub fn is_nil(&self) -> bool {
        match self.bare() {
            Self::Nil => true,
            Self::Slice(slice) => slice.is_nil(),
            Self::Map(map) => map.is_nil(),
            Self::Pointer(pointer) => pointer.target.is_none(),
            _ => false,
        }
    }

    /// The zero value of a type: `0`, `""`, nil, a struct of zero values.
    pub fn zero(of: &'static Type) -> Self {
        match of {
            Type::Bool => Self::Bool(false),
            Type::Int(kind) => Self::Int(*kind, 0),
            Type::Uint(kind) => Self::Uint(*kind, 0),
            Type::Float(kind) => Self::Float(*kind, 0.0),
            Type::Complex(kind) => Self::Complex(*kind, 0.0, 0.0),
            Type::String => Self::text(""),
            Type::Interface(_) | Type::Reflect => Self::Nil,
            Type::Slice(item) => Self::Slice(Slice { item, items: None }),
            Type::Array(length, item) => Self::Array(Array::new(item, vec![Self::zero(item); *length])),
            Type::Map(key, item) => Self::Map(Map::nil(key, item)),
            Type::Pointer(to) => Self::Pointer(Pointer { to, target: None }),
            Type::Struct(of) => Self::Struct(Struct::new(
                of,
                of.fields.iter().map(|field| Self::zero(field.ty)).collect::<Rc<_>>(),
            )),
            Type::Named(named) => Self::named(named, Self::zero(named.underlying)),
        }
    }

    /// A copy of a value; nil for none, as in Go.
    pub fn or_nil(value: Option<&Value>) -> Value {
        match value {
            Some(value) => value.clone(),
            None => Value::Nil,
        }
    }

    /// The elements of a slice or an array; none of anything else.
    pub fn elements(&self) -> &[Value] {
        self.items().unwrap_or(&[])
    }

    /// The elements of a slice or an array, as Go's `reflect` sees them.
    pub fn items(&self) -> Option<&[Value]> {
        match self.bare() {
            Self::Slice(slice) => Some(slice.items()),
            Self::Array(array) => Some(array.items()),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Self {
        Self::String(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl Slice {
    /// A slice that is not nil.
    pub fn new(item: &'static Type, items: Vec<Value>) -> Self {
        Self::sharing(item, items.into())
    }

    /// The same over shared or already collected items: that saves a copy.
    pub fn sharing(item: &'static Type, items: Rc<[Value]>) -> Self {
        Self {
            item,
            items: Some(Items::new(items)),
        }
    }

    pub fn nil(item: &'static Type) -> Self {
        Self { item, items: None }
    }

    /// Its elements; none when it is nil.
    pub fn items(&self) -> &[Value] {
        self.items.as_deref().unwrap_or_default()
    }

    /// Whether it is nil, which is not the same as empty.
    pub fn is_nil(&self) -> bool {
        self.items.is_none()
    }
}

impl Array {
    /// An array of as many elements as there are items.
    pub fn new(item: &'static Type, items: Vec<Value>) -> Self {
        Self {
            item,
            items: Items::new(items.into()),
        }
    }

    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

impl Struct {
    /// A struct with the fields in the order of its type. Values beyond the declared fields are for its methods only:
    /// nothing prints or compares them.
    pub fn new(of: &'static StructType, fields: impl Into<Rc<[Value]>>) -> Self {
        let fields = fields.into();
        debug_assert!(of.fields.len() <= fields.len(), "{}", of.name);
        Self {
            of,
            fields: Items::new(fields),
        }
    }

    /// The values of its fields, in the order of its type.
    pub fn fields(&self) -> &[Value] {
        &self.fields
    }

    /// Whether both share their fields. Equal structs need not.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.fields.is_same(&other.fields)
    }

    /// The value of a field of its own.
    pub fn field(&self, name: &str) -> Option<&Value> {
        let index = self.of.fields.iter().position(|field| field.name == name)?;
        self.fields.get(index)
    }
}

impl Pointer {
    /// A pointer to a value of type `to`.
    pub fn new(to: &'static Type, target: Value) -> Self {
        Self {
            to,
            target: Some(Rc::new(target)),
        }
    }
}

/// Bytes of a string that a function scans in the time of one step.
const BYTES_PER_STEP: usize = 32;

impl Host<'_> {
    /// Counts an argument, which a function may scan to its end. The function counts the argument's own items.
    ///
    /// # Errors
    /// As [`Host::step`].
    pub fn read(&mut self, argument: &Value) -> Result<(), Failure> {
        match argument.bare() {
            Value::String(text) => self.step((text.len() / BYTES_PER_STEP) as u64),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_nesting_is_let_go_on_a_flat_stack() {
        let mut list = Value::list(Vec::new());
        for round in 0..1_000_000 {
            list = match round % 3 {
                0 => Value::list(vec![list]),
                1 => Value::dict([("x", list)]),
                _ => Value::Pointer(Pointer::new(&ANY, list)),
            };
        }
        drop(list);
    }

    #[test]
    fn types_print_as_in_go() {
        let value = Value::dict([("a", Value::strings(["x"]))]);
        assert_eq!(
            value.type_of().map(|of| of.to_string()).as_deref(),
            Some("map[string]interface {}")
        );
    }
}
