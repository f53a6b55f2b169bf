//! Connection settings from specs and Secrets: trust, proxies, logins, signers, Git remotes and their forges.

mod clouds;
mod error;
mod forge;
pub mod git;
mod github_app;
mod proxy;
mod signing;
mod tls;

pub use clouds::{CloudRoute, Clouds};
pub use error::AccessError;
pub use forge::{forge, git_address, own_login};
pub use github_app::{github_app, names_github_app};
pub use proxy::proxy;
pub use signing::{SigningKeyError, signer};
pub use tls::{given_tls, older_keys, tls};
