//! Writes nodes.

pub(crate) mod analyze;
pub(crate) mod emit;
pub(crate) mod go_syntax;
pub(crate) mod json;
pub(crate) mod kyaml;
pub(crate) mod natural;
pub(crate) mod sigs;
pub(crate) mod to_json;
pub(crate) mod value;
