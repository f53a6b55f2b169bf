//! The policies of a run, and the images that they choose.

pub(crate) mod held;
pub(crate) mod known;
pub(crate) mod policies;
pub(crate) mod repository_policies;
pub(crate) mod terms;
pub(crate) mod view;
