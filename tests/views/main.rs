//! What people see of a cluster: commands that look at it, and pages for browsers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod browser;
mod old_versions;
mod reviewed;
mod seed;
mod server;
mod strangers;
mod terminal;
