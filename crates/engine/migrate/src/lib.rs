//! Rewrites manifests of older API versions as v1 (ImageUpdateAutomation v1beta1; Kustomization v1beta1 against v1;
//! IUA-006 to IUA-008, IUA-111 to IUA-116), changing only the bytes of versions and of moved fields.
//!
//! ```text
//! bytes ─▶ tree (nodes with byte spans) ─▶ objects (kinds, versions) ─▶ rules of a kind ─▶ edits + moves
//!                                             edits, parsed again, must equal the tree after its moves ─▶ Migration
//! ```
//!
//! An object that cannot keep its meaning stays as it is and becomes a [`Left`] with its reason. The last step makes
//! this safe for any layout: an object whose edited text does not parse as expected is not changed.
//!
//! [`kustomize`] does the same to kustomization files: deprecated fields, and images.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod automation;
mod automation_flow;
mod kinds;
mod kustomization;
pub mod kustomize;
mod lines;
mod migration;
mod moves;
mod objects;
mod outcome;
mod planned;
mod removal;

pub use migration::{Migration, mentions_old, migrate};
pub use moves::{Moves, Path};
pub use outcome::{Left, Migrated, Note, Reason};
pub use removal::removal;
