//! Go's own functions, and the names that a template may call.

pub(crate) mod compare;
pub(crate) mod escape;
pub(crate) mod functions;
pub(crate) mod index;
pub(crate) mod table;
