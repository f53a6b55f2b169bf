//! Go's values, as far as a template can meet them.
//!
//! A [`Value`] is what an `interface {}` holds. The place that it was found in is a [`Slot`](super::Slot).
//!
//! Maps are shared and can change, as in Go; everything else is immutable, and cheap to clone.

use super::{
    function::Failure,
    go_type::{ANY, ComplexKind, FloatKind, IntKind, NamedType, STRING, StructType, Type, UintKind},
    host::Host,
    key::Key,
    text::Text,
};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

/// A value with its dynamic type.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Untyped nil: what a nil interface holds.
    #[default]
    Nil,
    /// `bool`
    Bool(bool),
    /// A signed integer.
    Int(IntKind, i64),
    /// An unsigned integer.
    Uint(UintKind, u64),
    /// A floating-point number; of a `float32` the value is one that fits.
    Float(FloatKind, f64),
    /// A complex number: real and imaginary part.
    Complex(ComplexKind, f64, f64),
    /// `string`
    String(Text),
    /// A slice, perhaps nil.
    Slice(Slice),
    /// An array.
    Array(Array),
    /// A map, perhaps nil.
    Map(Map),
    /// A struct.
    Struct(Struct),
    /// A pointer, perhaps nil.
    Pointer(Pointer),
    /// A value of a type with a name, over a value that is neither `Named` nor a struct.
    Named(&'static NamedType, Box<Value>),
}

/// A slice `[]T`.
#[derive(Clone, Debug)]
pub struct Slice {
    /// `T`; when it is an interface the items are what the interfaces hold.
    pub item: &'static Type,
    items: Option<Rc<Items>>,
}

/// An array `[N]T`.
#[derive(Clone, Debug)]
pub struct Array {
    /// `T`
    pub item: &'static Type,
    items: Rc<Items>,
}

/// A map `map[K]V`; clones share the entries.
#[derive(Clone, Debug)]
pub struct Map {
    /// `K`
    pub key: &'static Type,
    /// `V`; when it is an interface the values are what the interfaces hold.
    pub item: &'static Type,
    entries: Option<Rc<Entries>>,
}

/// A struct.
#[derive(Clone, Debug)]
pub struct Struct {
    /// Its type.
    pub of: &'static StructType,
    fields: Rc<Items>,
}

/// A pointer `*T`.
#[derive(Clone, Debug)]
pub struct Pointer {
    /// `T`
    pub to: &'static Type,
    /// What it points at; `None` is nil.
    pub target: Option<Rc<Value>>,
}

/// The values in a container. They are let go one after the other, so that a deep nesting needs no deep stack.
#[derive(Debug)]
struct Items(Vec<Value>);

#[derive(Debug)]
struct Entries(RefCell<BTreeMap<Key, Value>>);

impl Value {
    /// A `string`.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::String(text.into())
    }

    /// An `int`.
    pub fn int(number: i64) -> Self {
        Self::Int(IntKind::Int, number)
    }

    /// An `int64`.
    pub fn int64(number: i64) -> Self {
        Self::Int(IntKind::Int64, number)
    }

    /// A `float64`.
    pub fn float(number: f64) -> Self {
        Self::Float(FloatKind::Float64, number)
    }

    /// A `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Self {
        Self::Slice(Slice::new(&ANY, items))
    }

    /// A `[]string`.
    pub fn strings<T: Into<Text>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::Slice(Slice::new(&STRING, items.into_iter().map(Self::text).collect()))
    }

    /// A `map[string]interface {}`.
    pub fn dict<T: Into<Text>>(entries: impl IntoIterator<Item = (T, Value)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (Self::text(key), value));
        Self::Map(Map::new(&STRING, &ANY, entries))
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
    pub(super) fn type_name(&self) -> String {
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
            Type::Map(key, item) => Self::Map(Map {
                key,
                item,
                entries: None,
            }),
            Type::Pointer(to) => Self::Pointer(Pointer { to, target: None }),
            Type::Struct(of) => Self::Struct(Struct::new(
                of,
                of.fields.iter().map(|field| Self::zero(field.ty)).collect(),
            )),
            Type::Named(named) => Self::Named(named, Box::new(Self::zero(named.underlying))),
        }
    }

    /// What Go's `reflect` calls the elements of a slice or an array.
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
        Self {
            item,
            items: Some(Rc::new(Items(items))),
        }
    }

    /// A nil slice.
    pub fn nil(item: &'static Type) -> Self {
        Self { item, items: None }
    }

    /// Its elements; none when it is nil.
    pub fn items(&self) -> &[Value] {
        self.items.as_ref().map_or(&[], |items| &items.0)
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
            items: Rc::new(Items(items)),
        }
    }

    /// Its elements.
    pub fn items(&self) -> &[Value] {
        &self.items.0
    }
}

impl Struct {
    /// A struct with the fields in the order of its type. Values beyond the declared fields are for its methods alone:
    /// nothing prints or compares them.
    pub fn new(of: &'static StructType, fields: Vec<Value>) -> Self {
        debug_assert!(of.fields.len() <= fields.len(), "{}", of.name);
        Self {
            of,
            fields: Rc::new(Items(fields)),
        }
    }

    /// The values of its fields, in the order of its type.
    pub fn fields(&self) -> &[Value] {
        &self.fields.0
    }

    /// Whether both share their fields. Equal structs need not.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.fields, &other.fields)
    }

    /// The value of an own field.
    pub fn field(&self, name: &str) -> Option<&Value> {
        let index = self.of.fields.iter().position(|field| field.name == name)?;
        self.fields.0.get(index)
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

impl Map {
    /// A map that is not nil.
    pub fn new(key: &'static Type, item: &'static Type, entries: impl IntoIterator<Item = (Value, Value)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (Key(key), value)).collect();
        Self {
            key,
            item,
            entries: Some(Rc::new(Entries(RefCell::new(entries)))),
        }
    }

    /// A nil map.
    pub fn nil(key: &'static Type, item: &'static Type) -> Self {
        Self {
            key,
            item,
            entries: None,
        }
    }

    /// Whether it is nil, which is not the same as empty.
    pub fn is_nil(&self) -> bool {
        self.entries.is_none()
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.as_ref().map_or(0, |entries| entries.0.borrow().len())
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at a key.
    pub fn get(&self, key: &Value) -> Option<Value> {
        self.entries.as_ref()?.0.borrow().get(Key::of(key)).cloned()
    }

    /// Its entries in the order of their keys, as Go prints and ranges over them (`internal/fmtsort`).
    pub fn entries(&self) -> Vec<(Value, Value)> {
        let Some(entries) = &self.entries else {
            return Vec::new();
        };
        let entries = entries.0.borrow();
        entries
            .iter()
            .map(|(key, value)| (key.0.clone(), value.clone()))
            .collect()
    }

    /// The same for a template, which may ask again and again: each copy counts.
    pub(super) fn counted_entries(&self, host: &mut Host<'_>) -> Result<Vec<(Value, Value)>, Failure> {
        host.produce(self.len().saturating_mul(size_of::<(Value, Value)>()))?;
        Ok(self.entries())
    }

    /// Sets the value at a key, for all who share the map. `false`: the map is nil, where Go panics.
    pub fn insert(&self, key: Value, value: Value) -> bool {
        let Some(entries) = &self.entries else { return false };
        entries.0.borrow_mut().insert(Key(key), value);
        true
    }

    /// Removes a key, for all who share the map.
    pub fn remove(&self, key: &Value) {
        if let Some(entries) = &self.entries {
            entries.0.borrow_mut().remove(Key::of(key));
        }
    }

    /// Whether both are the same map, not only equal ones.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.entries, &other.entries) {
            (Some(ours), Some(theirs)) => Rc::ptr_eq(ours, theirs),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        let mut left = std::mem::take(&mut self.0);
        while let Some(value) = left.pop() {
            take_apart(value, &mut left);
        }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        // Keys are flat: only what is comparable can be one.
        let mut left: Vec<Value> = std::mem::take(self.0.get_mut()).into_values().collect();
        while let Some(value) = left.pop() {
            take_apart(value, &mut left);
        }
    }
}

/// Moves what only `value` holds into `left`.
fn take_apart(value: Value, left: &mut Vec<Value>) {
    match value {
        Value::Slice(Slice { items: Some(items), .. })
        | Value::Array(Array { items, .. })
        | Value::Struct(Struct { fields: items, .. }) => {
            if let Ok(mut items) = Rc::try_unwrap(items) {
                left.append(&mut items.0);
            }
        }
        Value::Map(Map {
            entries: Some(entries), ..
        }) => {
            if let Ok(mut entries) = Rc::try_unwrap(entries) {
                left.extend(std::mem::take(entries.0.get_mut()).into_values());
            }
        }
        Value::Pointer(Pointer {
            target: Some(target), ..
        }) => left.extend(Rc::try_unwrap(target)),
        Value::Named(_, inner) => left.push(*inner),
        _ => {}
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
    fn maps_are_shared_and_sorted() {
        let map = Map::new(
            &STRING,
            &ANY,
            [("b".into(), 1.into_value()), ("a".into(), 2.into_value())],
        );
        let other = map.clone();
        assert!(other.insert("B".into(), Value::Nil));
        let keys: Vec<String> = map.entries().iter().map(|(key, _)| format!("{key:?}")).collect();
        assert_eq!(keys, [r#"String("B")"#, r#"String("a")"#, r#"String("b")"#]);
        assert!(!Map::nil(&STRING, &ANY).insert("x".into(), Value::Nil));
    }

    trait IntoValue {
        fn into_value(self) -> Value;
    }

    impl IntoValue for i64 {
        fn into_value(self) -> Value {
            Value::int(self)
        }
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
