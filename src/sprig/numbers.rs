//! Arithmetic over integers and, exactly, over decimal fractions.

use crate::template::Function;

/// The functions of this family.
pub(super) static FUNCTIONS: &[Function] = &[];
