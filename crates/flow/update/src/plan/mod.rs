//! From markers and policies to edits: the pure middle of a run.

pub(crate) mod bumps;
pub(crate) mod planned;
pub(crate) mod remarks;
pub(crate) mod splice;
pub(crate) mod verification;
pub(crate) mod windows;
