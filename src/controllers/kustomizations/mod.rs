//! Kustomizations: what a source describes is kept in a cluster.

pub(crate) mod apply;
pub(crate) mod artifact_trees;
pub(crate) mod audiences;
pub(crate) mod build;
pub(crate) mod build_slots;
pub(crate) mod dependencies;
mod deploy;
pub(crate) mod error;
pub(crate) mod finalize;
pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod kubeconfig;
pub(crate) mod kustomization;
pub(crate) mod report;
pub(crate) mod source;
pub(crate) mod status;
pub(crate) mod takeover;
pub(crate) mod target;
pub(crate) mod triggers;
mod validate;
pub(crate) mod vault;
