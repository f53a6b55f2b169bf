//! The build engine of kustomize v5.8, over trees of files in memory.
//!
//! ```text
//! tree of files ─▶ kustomization (read, check) ─▶ accumulate (resources, components, generators, transformers)
//!               ─▶ references, variables, order ─▶ objects
//! ```
//!
//! [`build`] does it all: it reads from a [`tree::Tree`], requests what is outside of it from a [`tree::World`], and
//! returns a [`Build`] or a [`BuildError`] with its place.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod accumulate;
pub mod fields;
pub mod generate;
mod growth;
mod gvk;
mod helm;
pub mod jsonpatch;
pub mod kustomization;
pub mod merge;
mod plugins;
mod reference;
pub mod replace;
pub mod resource;
pub mod schema;
pub mod transform;
pub mod tree;

#[cfg(test)]
mod testing;

pub use accumulate::{Build, BuildError, Cause, LostItems, Options, Order, Rewritten, build, build_rewritten};
pub use growth::{Growth, GrowthError};
pub use gvk::Gvk;
