//! From specs and Secrets to connections: with Git servers, registries, buckets and other clusters.
//!
//! ```text
//! spec ─▶ References ─▶ Objects (read by the caller) ─┬▶ git       ─▶ Remote ─▶ forge
//!                                                     ├▶ registry  ─▶ Peer, Keychain or identity
//!                                                     ├▶ bucket    ─▶ Settings
//!                                                     └▶ cluster   ─▶ kubeconfig, ClusterPlace
//! ```

pub mod bucket;
mod clouds;
pub mod cluster;
mod error;
mod forge;
pub mod git;
mod github_app;
pub mod helm_repository;
mod identity;
mod proxy;
mod references;
pub mod registry;
mod signing;
mod spec;
mod tls;

pub use clouds::{CloudRoute, Clouds};
pub use error::{AccessError, ConnectError};
pub use forge::{
    PullRequestError, forge, git_address, own_gerrit, own_gitea, own_login, pull_request_login, review_server,
};
pub use identity::{ProviderAccount, requester};
pub use references::References;
pub use signing::{SigningKeyError, signer};
pub use spec::ConnectionSpec;
pub use tls::older_keys;
