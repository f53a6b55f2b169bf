//! Packs: made in memory, received, indexed, consolidated.

pub(crate) mod consolidate;
pub(crate) mod delta;
pub(crate) mod delta_base;
pub(crate) mod delta_tree;
pub(crate) mod entry;
pub(crate) mod index;
pub(crate) mod large_delta;
pub(crate) mod made;
pub(crate) mod store;
pub(crate) mod unpack;
