//! Manifests: read, decoded, checked, written.

pub(crate) mod check;
pub(crate) mod decode;
pub(crate) mod emit;
pub(crate) mod objects;
pub(crate) mod read;
