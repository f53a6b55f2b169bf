//! JSON as Go reads and writes it.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod fields;
pub(crate) mod functions;
