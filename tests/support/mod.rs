//! Real parts for tests and benches: repositories, a smart HTTP server, an SSH server.
//!
//! Each test binary uses some of it.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

pub mod git_http;
pub mod mirror;
pub mod packets;
pub mod repo;
pub mod sshd;
