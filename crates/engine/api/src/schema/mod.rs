//! Schemas of the kinds, and the rules in them.

pub(crate) mod broken_rules;
pub(crate) mod crd;
pub(crate) mod kinds;
pub(crate) mod shared;
pub(crate) mod source;
pub(crate) mod structural;
