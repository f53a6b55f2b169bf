//! Keys, and the services that decrypt with them.

pub(crate) mod data_key;
pub(crate) mod local;
pub(crate) mod pgp;
pub(crate) mod secret;
pub(crate) mod service;
pub(crate) mod shamir;
