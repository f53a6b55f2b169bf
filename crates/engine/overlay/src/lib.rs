//! The build of a Flux Kustomization from a tree of files and its spec, as kustomize-controller v1.9 does it.
//!
//! ```text
//! tree + Overlay ─▶ prepare: path, kustomization found or generated, rewritten with the spec ─▶ Prepared
//! Prepared + World + Stages ─▶ build: sources decrypted ─▶ kustomize ─▶ each object decrypted, substituted ─▶ Built
//! ```
//!
//! - [`Overlay`]: the fields of a Kustomization's spec that decide what is built.
//! - [`prepare`]: finds the path, finds or generates its `kustomization.yaml` and puts the spec's fields
//!   into it. The tree is not changed and not copied: replaced files are kept beside it, so one tree serves
//!   any number of Kustomizations.
//! - [`Prepared::build`]: the objects and the digest of their YAML. Decryption and substitution come in as
//!   [`Decrypt`] and [`Substitute`]: this crate decides when they run.
//! - [`Object`]: an object with the file and line that it comes from.
//! - [`LeftOut`]: an object that variable substitution made invalid.
//! - [`NotText`]: a label, an annotation or a namespace that no API server takes; [`Built::without`] makes
//!   an error of it.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod build;
mod error;
mod field_table;
mod fit;
mod hidden;
mod left_out;
mod manifests;
mod mount;
mod not_text;
mod object;
mod prepare;
mod rewrite;
mod sources;
mod spec;
mod stages;
mod workers;

pub use build::{Built, UndefinedVariable};
pub use error::{BUILD_FAILED, Fault, FaultKind, KustomizationProblem, ManifestFault, OverlayError};
pub use hidden::Hidden;
pub use left_out::{LeftOut, may_lack};
pub use not_text::{NotText, Part};
pub use object::Object;
pub use prepare::{Prepared, prepare, prepare_within};
pub use spec::{Image, JsonPatch, Operation, Overlay, Patch, Target};
pub use stages::{Decrypt, PlacedError, SourceFile, SourceFormat, StageError, Stages, Substitute, Substituted};
