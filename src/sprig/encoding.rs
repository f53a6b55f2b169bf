//! Base 64, base 32, JSON.

use crate::template::Function;

/// The functions of this family.
pub(super) static FUNCTIONS: &[Function] = &[];
