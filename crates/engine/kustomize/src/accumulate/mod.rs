//! A build: from the root kustomization to objects.
//!
//! ```text
//! build ─▶ Target (a kustomization) ─▶ resources ─▶ generators ─▶ components ─▶ transformers ─▶ validators ─▶ vars
//!             ▲         │ directories
//!             └─────────┘                        at the root: hashes ─▶ references ─▶ vars ─▶ order ─▶ labels
//! ```
//!
//! - [`build`] with [`Options`] gives a [`Build`]; its [`Build::to_yaml`] is what `kustomize build` prints.
//! - [`BuildError`]: an error with its place and the kustomizations that led to it.

mod build;
mod builtin;
mod context;
mod directory;
mod error;
mod options;
mod order;
mod patch;
mod plugin;
mod target;
mod told;
mod transform;
mod validate;

pub use build::{Build, build, build_rewritten};
pub use error::{BuildError, Cause};
pub use options::Options;
pub use order::Order;
pub use target::Rewritten;
pub use told::LostItems;
