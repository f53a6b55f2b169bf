//! Real parts for tests and benches: repositories, a smart HTTP server, an SSH server.
//!
//! Each test binary uses some of it.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

pub mod cli;
pub mod git_http;
pub mod mirror;
pub mod packets;
pub mod proxy;
pub mod repo;
pub mod sshd;
pub mod tls;

use std::path::Path;

/// Whether a program that a test needs is there. Without it the test is skipped, but fails when `CI` is set.
pub fn has(program: &str, package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if Path::new(program).exists() || std::env::split_paths(&path).any(|dir| dir.join(program).exists()) {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "{program} is missing; install {package}"
    );
    println!("skipped: {program} is missing; install {package}");
    false
}
