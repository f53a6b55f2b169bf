//! `ExternalArtifact`.

pub(crate) mod schema;
