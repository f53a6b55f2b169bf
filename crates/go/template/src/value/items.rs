//! The values in a container: shared, in one piece of memory, dropped without recursion.

use super::values::{Array, LIST_BYTES, Pointer, Slice, Struct, Value};
use std::{cell::Cell, ops::Deref, rc::Rc};

thread_local! {
    /// Bytes that the lists of this thread take.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// The bytes that lists hold at the moment, also those that a template has only copied: copies are counted for less
/// than they take, since most are dropped at once.
pub(crate) fn held_by_lists() -> usize {
    HELD.get()
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
