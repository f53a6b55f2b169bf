//! Strings in snake, camel and other cases, as xstrings writes them.

use crate::template::Function;

/// The functions of this family.
pub(super) static FUNCTIONS: &[Function] = &[];
