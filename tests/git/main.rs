//! Git with real servers: transports, fetches, pushes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod fetch;
mod history;
mod push;
mod transport;
mod transport_https;
mod transport_ssh;
