//! Connections to API servers: as whom, how fast, by which way.

pub(crate) mod account;
pub(crate) mod clients;
pub(crate) mod cluster;
pub(crate) mod connect;
pub(crate) mod kubeconfig;
pub(crate) mod limit;
pub(crate) mod login;
pub(crate) mod own_name;
pub(crate) mod proxied;
pub(crate) mod remote;
pub(crate) mod review;
pub(crate) mod user;
