//! `HelmRepository`.

pub(crate) mod schema;
pub(crate) mod spec;
