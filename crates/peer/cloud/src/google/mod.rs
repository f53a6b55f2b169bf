//! Identities at Google Cloud.

pub(crate) mod cluster;
pub(crate) mod federation;
pub(crate) mod identity;
pub(crate) mod kms;
pub(crate) mod metadata;
pub(crate) mod registry;
