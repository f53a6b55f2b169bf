//! Git and OCI sources, and Buckets: the revision that a reference has now, and its files as a tree that an archive
//! is written from.
//!
//! ```text
//! reference ─▶ checkout (mirror) ─▶ commit ─▶ git_tree (+ submodules) ─▶ tree ─▶ archive
//!                                                        include ─────────┘
//! OCI reference ─▶ oci_pull (registry) ─▶ oci_evidence, oci_notation (signatures) ─▶ oci_layer ─▶ tree ─▶ archive
//! ```
//!
//! Nothing is checked out on disk: a tree refers to its files by the ids of their blobs, or by their position in an
//! unpacked layer, and the archive reads them one by one. Messages and odd rules are those of source-controller v1.9
//! and its Git library, go-git v5.19 (`fluxcd/pkg/git/gogit`).

mod archive;
mod bucket;
mod checkout;
mod git_tree;
mod include;
mod oci_evidence;
mod oci_layer;
mod oci_notation;
mod oci_pull;
mod oci_reference;
mod oci_verifier;
mod reference;
mod refusal;
mod spool;
mod tree;

pub use archive::{ArchiveError, archive, rules};
pub use bucket::{BucketFetchError, BucketFiles, BucketPick, fetch_bucket};
pub use checkout::{Commit, ReferencingTag, Seen, Wanted, checkout};
pub use git_tree::{Modules, SubmoduleError, SubmodulesError, check_sparse, of_commit};
pub use include::{IncludeError, put, unpacked};
pub use oci_evidence::verify_cosign;
pub use oci_layer::{Keeping, LayerError, select_layer, unpack_fault, unpack_layer};
pub use oci_notation::verify_notation;
pub use oci_pull::{OciRemote, Unresolved};
pub use oci_reference::{CHART_LAYER, DigestError, OciPick, OciUrlError, TagError, checked_digest, oci_repository};
pub use oci_verifier::{ImageUnverified, ImageVerifier};
pub use reference::Reference;
pub use refusal::CheckoutError;
pub use spool::{Spooled, keeping};
pub use tree::{Content, ContentStore, Directory, File, FileError, Files, Node, Resolved};
