//! From specs and Secrets to connections: trust, proxies, logins, signers, remotes and their forges.

mod access;
mod remotes;

pub use access::*;
pub use remotes::*;
