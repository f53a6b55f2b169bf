//! The result of a function.

use crate::value::{Fault, Value};

/// What an expression gives.
pub type Outcome = Result<Value, Fault>;
