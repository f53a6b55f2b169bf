//! Kustomizations with a real API server: apply, decryption, pruning, reports and rights.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod apply;
mod drift;
mod faults;
mod gates;
mod key_services;
mod lists;
mod notifications;
mod numbers;
mod objects;
mod remote;
mod restart;
mod rivals;
mod safety;
mod takeover;
mod takes_over;
mod tenants;
mod vault;
mod wiped;
