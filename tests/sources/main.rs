//! The source controller with a real API server: compared with Flux's own, under faults, and with webhooks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod applied;
mod artifacts;
mod bucket_sources;
mod buckets;
mod chart_shards;
mod chart_sources;
mod git_sources;
mod helm_sources;
mod keys;
mod observed;
mod oci_sources;
mod rounds;
mod webhooks;
