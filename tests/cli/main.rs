//! The other commands as their user runs them, and the manifests that all of them read.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod ci_parts;
mod completions;
mod documents;
mod envsubst;
mod explain;
mod findings;
mod fleet;
mod fleet_accept;
mod fleet_check;
mod fleet_check_makers;
mod fleet_check_refused;
mod fleet_check_releases;
mod fleet_diff;
mod fleet_entries;
mod fleet_release_notes;
mod fleet_review;
mod fleet_review_charts;
mod fleet_review_comment;
mod fleet_without_flux;
mod flux_versions;
mod helm;
mod help;
mod init;
mod kubeconfig;
mod kustomize;
mod man;
mod manifests;
mod markers;
mod message;
mod migrate;
mod migrate_command;
mod migrate_from;
mod output_schema;
mod picture;
mod policy;
mod reference;
mod version;
