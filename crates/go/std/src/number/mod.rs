//! Go's `strconv` for numbers.

pub(crate) mod float_format;
pub(crate) mod float_parse;
pub(crate) mod integer;
pub(crate) mod num_error;
