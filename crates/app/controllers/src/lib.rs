//! The controllers: what `bumpwright controller` runs in a cluster, in the place of Flux's.
//!
//! ```text
//! watches ─▶ cache ─▶ queue ─▶ reconcile (finalizer, status, event) ─▶ one file for each kind
//! ```
//!
//! A kind's reconciler returns an [`bumpwright_runtime::Outcome`]; conditions, events, retries and requeues follow from
//! it in one place.

mod artifact_trees;
mod audiences;
mod browser;
mod configs;
mod dereference;
mod fleet_view;
mod images;
mod kinds;
mod kustomizations;
mod mirror_uses;
mod mirrors;
mod older_keys;
mod parts;
mod process;
mod request_metrics;
mod reviews;
mod settings;
mod shards;
mod sources;
mod start_error;
mod tidy;
mod tokens;
mod webhooks;

pub use bumpwright_cloud::TokenCacheLimits;
pub use bumpwright_runtime::{Backoff, threads};
pub use process::run;
pub use reviews::CONTROLLER as REVIEW_CONTROLLER;
pub use settings::{
    ArtifactHosts, ArtifactSettings, Election, GateDescription, Gates, InvalidGate, Kinds, KustomizeSettings, Settings,
    ShardSettings, WebhookSettings,
};
pub use start_error::StartError;
