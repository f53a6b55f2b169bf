//! Helm charts from where they are.
//!
//! ```text
//! folder or archive of this machine ─▶ local       ─┐
//! oci://registry/repository         ─▶ registry    ─┼▶ files or the bytes of an archive ─▶ bumpwright_helm::Chart
//! https://repository, index.yaml    ─▶ repository  ─┘                                                │
//! files of a source                 ─▶ tree ────────▶ dependencies, values (valuesFiles) ─▶ build ◀──┘ ─▶ archive
//! ```
//!
//! Answers of servers are bounded while they are read, on the account of the job. Nothing is cached here.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod arrival;
mod build;
mod dependencies;
mod local;
mod registry;
mod repository;
mod sizes;
mod tree;
mod values;

pub use build::{BuildError, Built, Changes, Content, Local, Which, build_remote, not_pulled};
pub use dependencies::{DependencyError, LocalDependencyError, Remotes, RepositoryUrlError, complete, normalized};
pub use local::{LocalError, go_error, read_chart};
pub use registry::{OciChart, OciVersionError, Pull, PulledChart, Sought, layer_within, oci_version, pulled};
pub use repository::{Located, NotAUrl, PullError, Repository};
pub use sizes::Sizes;
pub use tree::{Place, PlaceError};
pub use values::{FilesOf, ValuesFiles, ValuesFilesError};
