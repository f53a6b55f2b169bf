//! The controllers: what `bumpwright controller` runs in a cluster, in the place of Flux's.
//!
//! ```text
//! watches ─▶ cache ─▶ queue ─▶ reconcile (finalizer, status, event) ─▶ one file for each kind
//! ```
//!
//! A kind's file says what its objects ask for and gives an [`status::Outcome`]; conditions, events, retries and requeues follow
//! from that in one place.

mod access_from;
mod announce;
mod artifact_server;
mod artifact_trees;
mod artifacts;
mod automation_job;
mod blocking;
mod bucket;
mod bucket_remote;
mod bucket_source;
mod build_turns;
mod clock;
mod clouds;
mod configs;
mod context;
mod counting;
mod gather;
mod git_repository;
mod git_source;
mod image_policy;
mod image_repository;
mod image_update_automation;
mod kustomization;
mod kustomize_apply;
mod kustomize_audiences;
mod kustomize_build;
mod kustomize_dependencies;
mod kustomize_finalize;
mod kustomize_health;
mod kustomize_keys;
mod kustomize_kubeconfig;
mod kustomize_report;
mod kustomize_source;
mod kustomize_status;
mod kustomize_takeover;
mod kustomize_target;
mod kustomize_triggers;
mod kustomize_vault;
mod lines;
mod mirror_uses;
mod mirrors;
mod oci_remote;
mod oci_repository;
mod oci_source;
mod older_keys;
mod places;
mod policy_book;
mod preview;
mod process;
mod queue;
mod reconcile;
mod settings;
mod skips;
mod source_archive;
mod source_remote;
mod source_spool;
mod source_status;
mod source_turn;
mod source_verify;
mod status;
mod tokens;
mod triggers;
mod watching;
mod webhook_server;
mod webhooks;

pub use bumpwright_cloud::TokenCacheLimits;
pub use places::threads;
pub use process::{StartError, run};
pub use queue::Backoff;
pub use settings::{
    ArtifactSettings, Election, Gates, InvalidGate, Kinds, KustomizeSettings, Settings, WebhookSettings,
};
