//! Go's values and types, and functions over them.

pub(crate) mod convert;
pub(crate) mod error;
pub(crate) mod failure;
pub(crate) mod function;
pub(crate) mod go_type;
pub(crate) mod held;
pub(crate) mod key;
pub(crate) mod map;
pub(crate) mod methods;
pub(crate) mod model;
pub(crate) mod number;
pub(crate) mod slot;
pub(crate) mod text;
pub(crate) mod truth;
pub(crate) mod values;
