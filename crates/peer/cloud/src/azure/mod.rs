//! Identities at Azure.

pub(crate) mod cluster;
pub(crate) mod identity;
pub(crate) mod managed_identity;
pub(crate) mod registry;
