//! The image controllers before a real API server, what all controllers share among it: flags, leases, logs, metrics, events.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod controller;
mod faults;
mod flags;
mod identity;
mod leader_election;
mod memory;
mod objects;
mod observe;
mod storage_faults;
