//! Artifacts of sources as Flux's source-controller makes them: archives, ignore rules, digests and revisions,
//! without a file system.
//!
//! ```text
//! files ─▶ ignore (which of them) ─▶ archive::Writer ─▶ tar.gz, its digest
//! tar.gz (ours, a layer, of another controller) ─▶ archive::Reader (guarded) ─▶ files, one at a time
//! ```
//!
//! [`digest`] and [`revision`] are for the fields of `status.artifact`. Names of files are bytes throughout, as
//! in Git and tar.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod archive;
pub mod digest;
pub mod ignore;
pub mod revision;

pub use archive::{Entry, EntryKind, Limits, Links, Marks, Packer, ReadError, Reader, WriteError, Writer, Written};
pub use digest::{Algorithm, Digest, DigestError, Digester};
pub use ignore::{IgnoreFile, IgnoreRules, Verdict, Walk};
pub use revision::Revision;
