//! Registries and logins at clouds: the real registry, and servers that check every request.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod client;
mod clouds;
mod docker_hub;
mod hostile;
mod keychain;
mod pulls;
mod server;
