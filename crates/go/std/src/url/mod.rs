//! Go's `net/url`.

pub(crate) mod escape;
pub(crate) mod parse;
pub(crate) mod parts;
