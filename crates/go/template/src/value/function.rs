//! Functions of templates: a name, Go's parameter types, a body in Rust.

use super::error::Error;
use super::go_type::Type;
use super::map::Map;
use super::slot::Slot;
use super::text::Text;
use super::values::{Slice, Value};
use crate::exec::host::Host;
use crate::exec::nested::Nested;
use std::fmt;

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
    /// The implementation.
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

/// Why a function did not return a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Go's error or panic: the template's error has `error calling NAME: ` before it.
    Error(String),
    /// A limit of our own was reached; never Go's behaviour.
    Limit(String),
    /// The error of a template that the function executed, without words of its own.
    Template(Box<Error>),
}

/// The arguments of a call, in order; of a method, the receiver first.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(pub &'a [Value]);

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

impl Failure {
    /// Go's error text.
    pub fn new(text: impl Into<String>) -> Self {
        Self::Error(text.into())
    }

    /// Go's error text, whatever it is.
    pub fn text(&self) -> &str {
        match self {
            Self::Error(text) | Self::Limit(text) => text,
            Self::Template(error) => &error.text,
        }
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
        self.0.get(index..).unwrap_or_default()
    }

    /// A `string` argument.
    ///
    /// # Errors
    /// As [`Args::value`].
    pub fn text(&self, index: usize) -> Result<&'a Text, Failure> {
        match self.value(index)?.bare() {
            Value::String(text) => Ok(text),
            _ => Err(mismatch(index, "a string")),
        }
    }

    /// An argument of any signed integer type.
    ///
    /// # Errors
    /// As [`Args::value`].
    pub fn int(&self, index: usize) -> Result<i64, Failure> {
        match self.value(index)?.bare() {
            Value::Int(_, number) => Ok(*number),
            _ => Err(mismatch(index, "an integer")),
        }
    }

    /// A `float64` argument.
    ///
    /// # Errors
    /// As [`Args::value`].
    pub fn float(&self, index: usize) -> Result<f64, Failure> {
        match self.value(index)?.bare() {
            Value::Float(_, number) => Ok(*number),
            _ => Err(mismatch(index, "a float")),
        }
    }

    /// A `bool` argument.
    ///
    /// # Errors
    /// As [`Args::value`].
    pub fn bool(&self, index: usize) -> Result<bool, Failure> {
        match self.value(index)?.bare() {
            Value::Bool(truth) => Ok(*truth),
            _ => Err(mismatch(index, "a bool")),
        }
    }

    /// A map argument.
    ///
    /// # Errors
    /// As [`Args::value`].
    pub fn map(&self, index: usize) -> Result<&'a Map, Failure> {
        match self.value(index)?.bare() {
            Value::Map(map) => Ok(map),
            _ => Err(mismatch(index, "a map")),
        }
    }

    /// A slice argument.
    ///
    /// # Errors
    /// As [`Args::value`].
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
