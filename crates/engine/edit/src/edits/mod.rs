//! Plans edits, and splices them.

pub(crate) mod pairs;
pub(crate) mod plan;
pub(crate) mod planned;
pub(crate) mod restore;
pub(crate) mod splice;
pub mod unified;
