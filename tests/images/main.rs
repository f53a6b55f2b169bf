//! The image controllers with a real API server, and parts shared by all controllers: flags,
//! leases, logs, metrics, events.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod appliers;
mod consent;
mod controller;
mod faults;
mod flags;
mod identity;
mod leader_election;
mod memory;
mod new_fields;
mod objects;
mod observe;
mod on_its_way;
mod own_tokens;
mod promotion;
mod release_notes;
mod reverts;
mod reviews;
mod reviews_gitlab;
mod rollouts;
mod shards;
mod signatures;
mod storage_faults;
mod verify;
mod verify_charts;
mod verify_server;
mod windows;
