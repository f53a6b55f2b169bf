//! Helm charts from where they are.
//!
//! ```text
//! folder or archive of this machine ─▶ local       ─┐
//! oci://registry/repository         ─▶ registry    ─┼▶ files or the bytes of an archive ─▶ bumpwright_helm::Chart
//! https://repository, index.yaml    ─▶ repository  ─┘
//! ```
//!
//! Answers of servers are bounded while they are read, on the account of the job. Nothing is cached here, and no dependency of a
//! chart is fetched.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod local;
mod registry;
mod repository;

pub use local::{go_error, read_chart};
pub use registry::{OciChart, Pull};
pub use repository::{Located, PullError, Repository};
