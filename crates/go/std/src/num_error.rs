//! Why a text is not a number.

use super::quote::quote_bytes;
use std::fmt;

/// Go's `strconv.NumError`.
#[derive(Clone, Debug, PartialEq)]
pub struct NumError<T> {
    /// The function of Go's: `ParseInt`.
    pub function: &'static str,
    /// What it was given.
    pub text: Vec<u8>,
    /// What is wrong with it.
    pub reason: Reason,
    /// What Go returns beside the error: zero, or the nearest number when there is none so large.
    pub value: T,
}

/// What is wrong with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is none.
    Syntax,
    /// The type cannot hold it.
    Range,
    /// There are no numbers to that base.
    Base(u32),
    /// There is no type of that many bits.
    BitSize(u32),
}

impl<T> NumError<T> {
    /// The error of `function`.
    pub(super) fn new(function: &'static str, text: &[u8], reason: Reason, value: T) -> Self {
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
