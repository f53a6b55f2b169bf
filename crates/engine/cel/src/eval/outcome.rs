//! The result of a function.

use crate::value::{Fault, Value};

pub type Outcome = Result<Value, Fault>;
