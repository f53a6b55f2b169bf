//! `merge` and its kin, as mergo merges maps.

use crate::template::Function;

/// The functions of this family.
pub(super) static FUNCTIONS: &[Function] = &[];
