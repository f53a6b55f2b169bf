//! Connection settings from specs and Secrets: trust, proxies, logins, signers, Git remotes and their forges.

mod access;
mod remotes;

pub use access::*;
pub use remotes::*;
