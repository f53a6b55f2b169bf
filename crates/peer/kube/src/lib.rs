//! A client of the Kubernetes API server: connections, watches and caches, reads, writes, leases.
//!
//! Objects are kept as JSON (`Object`) with the metadata of every reconciler as fields; `bumpwright_api` has their
//! types. Nothing here is specific to a kind.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod client;
mod error;
mod fence;
mod group;
mod kind;
pub mod lease;
mod object;
mod raw;
mod watch;

pub use client::cluster::Cluster;
pub use client::connect::{Connect, Scope};
pub use client::limit::Pace;
pub use client::login::{ServerToken, TokenSource};
pub use client::remote::{RemoteRules, kubeconfig_place};
pub use client::review::{AccessQuestion, ServerVersion};
pub use client::user::User;
pub use error::{ClusterError, RemoteError};
pub use group::GroupLease;
pub use kind::GroupVersionKind;
pub use kind::{
    BUCKET, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DAEMON_SET, DEPLOYMENT, EVENT,
    EXTERNAL_ARTIFACT, GIT_REPOSITORY, HELM_CHART, HELM_RELEASE, HELM_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY,
    IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind, LEASE, NAMESPACE, NETWORK_POLICY, OCI_REPOSITORY,
    PERSISTENT_VOLUME_CLAIM, POD, REPLICA_SET, ROLE, ROLE_BINDING, SECRET, SERVICE, SERVICE_ACCOUNT, STATEFUL_SET,
};
pub use lease::{Lease, lease_name};
pub use object::Object;
pub use raw::answered::Answered;
pub use raw::answered::Stamp;
pub use raw::apply::StatusWriter;
pub use raw::discovery::Resource;
pub use raw::dynamic::{Apply, Deletion};
pub use raw::lists::{StampQuery, Stamps};
pub use raw::too_large::TooLarge;
pub use raw::watched::OnAnswer;
pub use watch::cache::{Cache, Change, NotListed};
pub use watch::index::Index;
pub use watch::kept::KeptMemory;
