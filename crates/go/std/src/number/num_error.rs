//! Errors of parsing numbers.

use crate::quote::quote_bytes;
use std::fmt;

/// Go's `strconv.NumError`, with the function that failed and its input.
#[derive(Clone, Debug, PartialEq)]
pub struct NumError<T> {
    /// The name of the function in Go: `ParseInt`.
    pub function: &'static str,
    /// Its input.
    pub text: Vec<u8>,
    pub reason: Reason,
    /// Go's result beside the error: zero, or the nearest number when the input is out of range.
    pub value: T,
}

/// The problem with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is not a number.
    Syntax,
    /// The type cannot hold it.
    Range,
    /// The base is invalid.
    Base(u32),
    /// The size of the type is invalid.
    BitSize(u32),
}

impl<T> NumError<T> {
    /// An error of `function`.
    pub(crate) fn new(function: &'static str, text: &[u8], reason: Reason, value: T) -> Self {
        Self {
            function,
            text: text.to_vec(),
            reason,
            value,
        }
    }
}

impl<T> fmt::Display for NumError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = quote_bytes(&self.text);
        write!(f, "strconv.{}: parsing {text}: {}", self.function, self.reason)
    }
}

impl<T: fmt::Debug> std::error::Error for NumError<T> {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => f.write_str("invalid syntax"),
            Self::Range => f.write_str("value out of range"),
            Self::Base(base) => write!(f, "invalid base {base}"),
            Self::BitSize(bits) => write!(f, "invalid bit size {bits}"),
        }
    }
}
