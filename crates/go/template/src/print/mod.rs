//! Go's `fmt`: values in the formats of its verbs.

pub(crate) mod format;
pub(crate) mod method;
pub(crate) mod sprint;
pub(crate) mod values;
pub(crate) mod verb_flags;
pub(crate) mod verb_float;
pub(crate) mod verb_integer;
pub(crate) mod verb_text;
