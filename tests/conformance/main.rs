//! Comparison with recordings of Flux, of its libraries and of Go, and with the real `flux` command.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
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
