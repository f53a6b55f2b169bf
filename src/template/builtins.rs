//! Go's own functions: `and`, `call`, `eq`, `html`, `index`, `js`, `len`, `not`, `or`, `print`, `slice`, `urlquery` ….

use super::function::Function;

/// The functions that every template has.
pub(super) static BUILTINS: &[Function] = &[];
