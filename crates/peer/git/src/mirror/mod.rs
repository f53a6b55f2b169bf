//! The mirror of a remote: its folder, fetches and pushes.

pub(crate) mod checkout;
pub(crate) mod fetch;
pub(crate) mod folder;
pub(crate) mod identity;
pub(crate) mod layout;
pub(crate) mod lock;
pub(crate) mod private;
pub(crate) mod push;
pub(crate) mod remote_refs;
pub(crate) mod repository;
pub(crate) mod resolve;
