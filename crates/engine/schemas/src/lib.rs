//! The schemas of Kubernetes' own kinds, bundled, and those that CustomResourceDefinitions bring; objects checked
//! against them, as an API server does it that decodes strictly (`fieldValidation: Strict`).
//!
//! ```text
//! kubernetes.txt ─(once for each minor version)─▶ Table ─┐
//! CustomResourceDefinition ──────────────────────▶ Crd ──┴▶ Schemas ─▶ check: Violations
//!                                                                  ─▶ knows, is_namespaced
//! ```
//!
//! | group | purpose |
//! |---|---|
//! | `table`, `kubernetes.txt` | the bundled schemas |
//! | `shape`, `rules` | types and what their values have to fulfil |
//! | `crd` | types of a CustomResourceDefinition |
//! | `check`, `scalar`, `fits`, `format`, `quantity`, `place`, `words` | the check of an object |
//! | `known`, `removed` | versions that are served, and what to write instead of others |

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod check;
mod crd;
mod fits;
mod flux;
mod format;
mod known;
mod place;
mod quantity;
mod removed;
mod rules;
mod scalar;
mod schemas;
mod shape;
mod table;
mod words;

pub use check::Violation;
pub use crd::CrdError;
pub use known::{Known, When};
pub use quantity::quantity;
pub use schemas::{Schemas, UnknownMinor};
