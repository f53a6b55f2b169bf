//! Identities at AWS, and requests that they sign.

pub(crate) mod call;
pub(crate) mod cluster;
pub(crate) mod codecommit;
pub(crate) mod container;
pub(crate) mod credentials;
pub(crate) mod ec2;
pub(crate) mod endpoint;
pub(crate) mod process;
pub(crate) mod profile;
pub(crate) mod registry;
pub mod sigv4;
pub(crate) mod sts;
