//! The folder of the artifacts of sources, and their HTTP server.
//!
//! ```text
//! write ─▶ KIND/NAMESPACE/NAME/FILE ─▶ open (our own readers) ─▶ Shared (unpacked once)
//!                 │        ▲        └▶ serve (everybody else)
//!                 └ garbage ┘
//! ```
//!
//! Layout, names, retention and answers are those of source-controller (`github.com/fluxcd/pkg/artifact`), so that
//! either may take over the volume of the other; `fixtures/storage` has its recorded decisions. Differences: files are
//! synced before they get their names, digests are checked whenever a file is read, and folders are not listed.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod address;
mod collect;
#[cfg(test)]
mod crash_tests;
mod error;
mod garbage;
mod identity;
mod layout;
mod locks;
mod read;
mod room;
mod server;
mod shared;
mod step;
mod storage;
mod verify;
mod walk;
mod write;

pub use address::{AddressError, advertised_host, host_name};
pub use bumpwright_artifact::{Algorithm, Digest, DigestError};
pub use bumpwright_http_server::Limits;
pub use collect::Collected;
pub use error::FillError;
pub use error::StorageError;
pub use garbage::{FolderEntry, Retention, garbage};
pub use layout::{ArtifactPath, Folder, LATEST, NameError};
pub use read::VerifiedReader;
pub use server::{ListenError, limits, listen, serve};
pub use shared::{Shared, SharedError};
pub use storage::{Settings, Storage};
pub use write::Metadata;
