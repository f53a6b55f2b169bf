//! Webhooks: events of forges and registries trigger reconciliations.

pub(crate) mod receiver;
pub(crate) mod server;
