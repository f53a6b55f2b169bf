//! `Kustomization`.

pub(crate) mod annotations;
pub(crate) mod schema;
pub(crate) mod spec;
