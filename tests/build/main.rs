//! `bumpwright build` and `bumpwright diff` as their user runs them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod chart_repositories;
mod command;
mod diff;
mod fleet_sources;
mod fleet_truth;
mod helm_charts;
mod helm_releases;
mod kustomization;
mod numbers;
