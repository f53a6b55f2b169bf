//! Why a function did not return a value.

use std::fmt;

use super::error::Error;

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

impl Failure {
    /// Go's error text.
    pub fn new(text: impl fmt::Display) -> Self {
        Self::Error(text.to_string())
    }

    /// Go's error text, whatever it is.
    pub fn text(&self) -> &str {
        match self {
            Self::Error(text) | Self::Limit(text) => text,
            Self::Template(error) => &error.text,
        }
    }
}

/// Why a text that a function handed over was not rendered.
#[derive(Debug)]
pub enum NestedError {
    /// It is not a template.
    Parse(Error),
    Exec(Error),
    /// A limit was reached.
    Limit(Failure),
}

impl From<Failure> for NestedError {
    fn from(failure: Failure) -> Self {
        Self::Limit(failure)
    }
}
