//! What is remembered of applied objects.

pub(crate) mod applied;
pub(crate) mod folder;
