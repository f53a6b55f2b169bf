//! Conversions between types, as spf13/cast makes them.

use crate::template::Function;

/// The functions of this family.
pub(super) static FUNCTIONS: &[Function] = &[];
