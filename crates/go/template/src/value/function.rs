//! Functions of templates: a name, Go's parameter types, a body in Rust.

use std::fmt;

use super::failure::Failure;
use super::map::Map;
use super::model::{Args, Body, Function, Nested, Slice, Type, Value};
use super::text::Text;
use crate::exec::host::Host;
use bumpwright_text::Parts;

impl Function {
    /// A function over plain values.
    pub const fn new(
        name: &'static str,
        params: &'static [&'static Type],
        result: &'static Type,
        body: fn(&mut Host<'_>, Args<'_>) -> Result<Value, Failure>,
    ) -> Self {
        Self {
            name,
            params,
            variadic: false,
            result,
            body: Body::Plain(body),
        }
    }

    /// A function that executes templates of the set.
    pub const fn nested(
        name: &'static str,
        params: &'static [&'static Type],
        result: &'static Type,
        body: fn(&mut Nested<'_, '_, '_>, Args<'_>) -> Result<Value, Failure>,
    ) -> Self {
        Self {
            name,
            params,
            variadic: false,
            result,
            body: Body::Nested(body),
        }
    }

    /// The same with its last parameter variadic.
    pub const fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body")
    }
}

impl<'a> Args<'a> {
    /// The number of arguments.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The argument at `index`.
    ///
    /// # Errors
    /// Here and below: the declared parameters do not fit what the body reads, a bug.
    pub fn value(&self, index: usize) -> Result<&'a Value, Failure> {
        self.0.get(index).ok_or_else(|| mismatch(index, "an argument"))
    }

    /// All arguments from `index` on: the variadic ones.
    pub fn rest(&self, index: usize) -> &'a [Value] {
        self.0.tail(index)
    }

    /// A `string` argument.
    pub fn text(&self, index: usize) -> Result<&'a Text, Failure> {
        match self.value(index)?.bare() {
            Value::String(text) => Ok(text),
            _ => Err(mismatch(index, "a string")),
        }
    }

    /// An argument of any signed integer type.
    pub fn int(&self, index: usize) -> Result<i64, Failure> {
        match self.value(index)?.bare() {
            Value::Int(_, number) => Ok(*number),
            _ => Err(mismatch(index, "an integer")),
        }
    }

    /// A `float64` argument.
    pub fn float(&self, index: usize) -> Result<f64, Failure> {
        match self.value(index)?.bare() {
            Value::Float(_, number) => Ok(*number),
            _ => Err(mismatch(index, "a float")),
        }
    }

    /// A `bool` argument.
    pub fn bool(&self, index: usize) -> Result<bool, Failure> {
        match self.value(index)?.bare() {
            Value::Bool(truth) => Ok(*truth),
            _ => Err(mismatch(index, "a bool")),
        }
    }

    pub fn map(&self, index: usize) -> Result<&'a Map, Failure> {
        match self.value(index)?.bare() {
            Value::Map(map) => Ok(map),
            _ => Err(mismatch(index, "a map")),
        }
    }

    pub fn slice(&self, index: usize) -> Result<&'a Slice, Failure> {
        match self.value(index)?.bare() {
            Value::Slice(slice) => Ok(slice),
            _ => Err(mismatch(index, "a slice")),
        }
    }
}

fn mismatch(index: usize, expected: &str) -> Failure {
    Failure::new(format!("internal: argument {index} of the function is not {expected}"))
}
