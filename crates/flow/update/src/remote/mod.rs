//! A run against a remote.

pub(crate) mod base;
pub(crate) mod earlier;
pub(crate) mod fetch;
pub(crate) mod place;
pub(crate) mod previewed;
pub(crate) mod queue;
pub(crate) mod run;
pub(crate) mod steps;
