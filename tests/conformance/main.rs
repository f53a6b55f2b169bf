//! Ours beside what was recorded from Flux, from its libraries and from Go, and beside the real `flux` command.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod corpora;
mod flux_cli;
mod harness;
mod harness_kustomize;
mod policies;
mod scenarios;
mod semver;
mod stage;
mod templates;
