//! Webhooks: what forges and registries tell makes objects reconcile at once.

pub(crate) mod receiver;
pub(crate) mod server;
