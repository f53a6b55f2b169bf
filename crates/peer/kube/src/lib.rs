//! A client of the Kubernetes API server: connections, watches and caches, reads, writes, leases.
//!
//! Objects are kept as JSON (`Object`) with the metadata of every reconciler as fields; `bumpwright_api` has their
//! types. Nothing here is specific to a kind.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod account;
mod annotate;
mod answer;
mod answered;
mod apply;
mod cache;
mod client;
mod discovery;
mod dynamic;
mod error;
mod fence;
mod group;
mod index;
mod json_text;
mod kept;
mod kind;
mod kubeconfig;
pub mod lease;
mod limit;
mod lists;
mod login;
mod object;
mod own_name;
mod packed;
mod pages;
mod path_segment;
mod proxied;
mod received;
mod remote;
mod review;
mod too_large;
mod watched;

pub use answered::Answered;
pub use answered::Stamp;
pub use apply::StatusWriter;
pub use cache::{Cache, Change};
pub use client::{Cluster, Connect, Scope};
pub use discovery::Resource;
pub use dynamic::{Apply, Deletion};
pub use error::ClusterError;
pub use group::GroupLease;
pub use index::Index;
pub use kept::KeptMemory;
pub use kind::GroupVersionKind;
pub use kind::{
    BUCKET, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DAEMON_SET, DEPLOYMENT, EVENT,
    EXTERNAL_ARTIFACT, GIT_REPOSITORY, HELM_CHART, HELM_RELEASE, HELM_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY,
    IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind, LEASE, NAMESPACE, NETWORK_POLICY, OCI_REPOSITORY,
    PERSISTENT_VOLUME_CLAIM, POD, REPLICA_SET, ROLE, ROLE_BINDING, SECRET, SERVICE, SERVICE_ACCOUNT, STATEFUL_SET,
};
pub use lease::{Lease, lease_name};
pub use limit::Pace;
pub use lists::{StampQuery, Stamps};
pub use login::{ServerToken, TokenSource};
pub use object::Object;
pub use remote::{RemoteRules, kubeconfig_place};
pub use review::{AccessQuestion, ServerVersion, User};
pub use too_large::TooLarge;
pub use watched::OnAnswer;
