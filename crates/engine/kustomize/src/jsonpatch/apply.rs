//! Applies the operations to an object.

use super::operation::Operation;
use super::pointer::{container, index};
use super::spelling::{from_json, to_json};
use super::{Patch, PatchError, name_of};
use crate::growth::{Growth, GrowthError};
use bumpwright_yaml::{Dialect, Entry, Node, Tag, Value, reread};

impl Patch {
    /// Applies the operations to `object`, one after the other.
    ///
    /// # Errors
    ///
    /// When an operation does not apply; the object then has the changes of those before it.
    pub fn apply(&self, object: &mut Node) -> Result<(), PatchError> {
        self.apply_within(object, &Growth::default())
    }

    /// As [`Self::apply`], charging `growth` for what is copied and moved.
    ///
    /// # Errors
    ///
    /// As [`Self::apply`], and when copied values exceed the limit.
    pub(crate) fn apply_within(&self, object: &mut Node, growth: &Growth) -> Result<(), PatchError> {
        reread(object)?;
        if self.operations.iter().any(|operation| operation.op == "test") {
            // `test` compares spellings: those of the object in JSON, those of the patch as written.
            to_json(object, Dialect::V3)?;
        }
        for operation in &self.operations {
            operation.apply(object, growth)?;
        }
        from_json(object)
    }
}

/// The kinds of operations.
#[derive(Clone, Copy)]
enum Op {
    Add,
    Copy,
    Move,
    Remove,
    Replace,
    Test,
}

impl Op {
    const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Copy => "copy",
            Self::Move => "move",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Test => "test",
        }
    }
}

impl Operation {
    fn apply(&self, root: &mut Node, growth: &Growth) -> Result<(), PatchError> {
        match self.op.as_str() {
            "add" => {
                let path = self.path()?;
                self.add(Op::Add, root, path, self.value())
            }
            "remove" => self.remove(Op::Remove, root, self.path()?).map(|_| ()),
            "replace" => self.replace(root),
            "move" => {
                let value = self.remove(Op::Move, root, self.from()?)?;
                growth.check(&value).map_err(|cause| self.too_large(Op::Move, cause))?;
                self.add(Op::Move, root, self.path()?, value)
            }
            "copy" => {
                let value = self.get(Op::Copy, root, self.from()?)?;
                let paid = value.map_or(Ok(()), |value| growth.pay(value));
                paid.map_err(|cause| self.too_large(Op::Copy, cause))?;
                let value = value.cloned();
                self.add(Op::Copy, root, self.path()?, value.unwrap_or_else(Node::null))
            }
            "test" => self.test(root),
            _ => Err(PatchError::Unknown {
                place: self.place,
                op: self.op.clone(),
            }),
        }
    }

    const fn too_large(&self, op: Op, cause: GrowthError) -> PatchError {
        PatchError::Growth {
            place: self.place,
            op: op.name(),
            cause,
        }
    }

    fn path(&self) -> Result<&str, PatchError> {
        self.path.as_deref().ok_or_else(|| self.missing_field("path"))
    }

    fn from(&self) -> Result<&str, PatchError> {
        self.from.as_deref().ok_or_else(|| self.missing_field("from"))
    }

    fn missing_field(&self, field: &'static str) -> PatchError {
        PatchError::Field {
            place: self.place,
            op: self.op.clone(),
            field,
        }
    }

    /// The value; null if absent.
    fn value(&self) -> Node {
        self.value.clone().unwrap_or_else(|| Node::null().at(self.place))
    }

    fn missing(&self, op: Op, path: &str) -> PatchError {
        PatchError::Path {
            place: self.place,
            op: op.name(),
            path: path.to_owned(),
        }
    }

    fn no_index(&self, op: Op, path: &str, index: &str, length: usize) -> PatchError {
        PatchError::Index {
            place: self.place,
            op: op.name(),
            path: path.to_owned(),
            index: index.to_owned(),
            length,
        }
    }

    fn add(&self, op: Op, root: &mut Node, path: &str, value: Node) -> Result<(), PatchError> {
        let (node, key) = container(root, path).ok_or_else(|| self.missing(op, path))?;
        match &mut node.value {
            Value::Mapping(mapping) => mapping.set(&key, value),
            Value::Sequence(sequence) => {
                let items = &mut sequence.items;
                let at = match &*key {
                    "-" => Some(items.len()),
                    key => index(key, items.len() + 1),
                };
                let at = at.ok_or_else(|| self.no_index(op, path, &key, items.len()))?;
                items.insert(at, value);
            }
            Value::Scalar(_) => return Err(self.missing(op, path)),
        }
        Ok(())
    }

    fn remove(&self, op: Op, root: &mut Node, path: &str) -> Result<Node, PatchError> {
        let (node, key) = container(root, path).ok_or_else(|| self.missing(op, path))?;
        match &mut node.value {
            Value::Mapping(mapping) => mapping.remove(&key).ok_or_else(|| self.missing(op, path)),
            Value::Sequence(sequence) => {
                let items = &mut sequence.items;
                let at = index(&key, items.len());
                let at = at.ok_or_else(|| self.no_index(op, path, &key, items.len()))?;
                Ok(items.remove(at))
            }
            Value::Scalar(_) => Err(self.missing(op, path)),
        }
    }

    /// The value at a path; `None` for a key that a mapping does not have.
    fn get<'n>(&self, op: Op, root: &'n mut Node, path: &str) -> Result<Option<&'n Node>, PatchError> {
        let (node, key) = container(root, path).ok_or_else(|| self.missing(op, path))?;
        match &node.value {
            Value::Mapping(mapping) => Ok(mapping.get(&key)),
            Value::Sequence(sequence) => {
                let items = &sequence.items;
                let at = index(&key, items.len()).and_then(|at| items.get(at));
                at.map(Some).ok_or_else(|| self.no_index(op, path, &key, items.len()))
            }
            Value::Scalar(_) => Err(self.missing(op, path)),
        }
    }

    fn replace(&self, root: &mut Node) -> Result<(), PatchError> {
        let path = self.path()?;
        if path.is_empty() {
            return self.replace_root(root);
        }
        let (node, key) = container(root, path).ok_or_else(|| self.missing(Op::Replace, path))?;
        match &mut node.value {
            Value::Mapping(mapping) => mapping.set(&key, self.value()),
            Value::Sequence(sequence) => {
                let length = sequence.items.len();
                let slot = index(&key, length).and_then(|at| sequence.items.get_mut(at));
                *slot.ok_or_else(|| self.no_index(Op::Replace, path, &key, length))? = self.value();
            }
            Value::Scalar(_) => return Err(self.missing(Op::Replace, path)),
        }
        Ok(())
    }

    fn replace_root(&self, root: &mut Node) -> Result<(), PatchError> {
        let value = self.value();
        if value.as_mapping().is_none() {
            return Err(PatchError::Root {
                place: self.place,
                op: Op::Replace.name(),
                found: name_of(&value),
            });
        }
        *root = value;
        Ok(())
    }

    fn test(&self, root: &mut Node) -> Result<(), PatchError> {
        let path = self.path()?;
        let tested = if path.is_empty() {
            Some(&*root)
        } else {
            self.get(Op::Test, root, path)?
        };
        let tested = tested.filter(|node| !node.is_null());
        let equal = match (tested, &self.value) {
            (None, value) => value.as_ref().is_none_or(Node::is_null),
            (Some(_), None) => false,
            (Some(tested), Some(value)) => equal(tested, value),
        };
        if equal {
            return Ok(());
        }
        Err(PatchError::Test {
            place: self.place,
            path: path.to_owned(),
        })
    }
}

/// Whether two values are equal; numbers are if they are spelled alike.
fn equal(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Scalar(one), Value::Scalar(other)) => {
            let is_number = |tag: &Tag| matches!(tag, Tag::Int | Tag::Float);
            let alike = one.tag == other.tag || is_number(&one.tag) && is_number(&other.tag);
            alike && one.text == other.text
        }
        (Value::Mapping(one), Value::Mapping(other)) => {
            let same = |entry: &Entry| {
                let value = other.get(&entry.key.text);
                value.is_some_and(|value| equal(&entry.value, value))
            };
            one.entries.len() == other.entries.len() && one.entries.iter().all(same)
        }
        (Value::Sequence(one), Value::Sequence(other)) => {
            let mut pairs = one.items.iter().zip(&other.items);
            one.items.len() == other.items.len() && pairs.all(|(one, other)| equal(one, other))
        }
        _ => false,
    }
}
