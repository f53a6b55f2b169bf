//! The schema of the kinds, as far as merging needs it: fields, merge keys of lists, scopes.
//!
//! ```text
//! schema/*.txt ──(once, at first use)─────▶ Schema ◀── custom swagger (`openapi: {path: …}`)
//! SchemaChoice: the one that a build uses ────▶ Schema ─▶ TypeRef ─▶ field, items, merge_keys
//! ```
//!
//! * [`Schema::builtin`]: Kubernetes' own kinds, as in kustomize v5.8.2 (Kubernetes v1.21.2).
//! * [`SchemaChoice`]: one per build; receives `openapi:` of each kustomization and returns the schema and the scopes.
//! * [`Schema::kind`] → [`TypeRef`]: where a merge starts; cheap to copy, no allocation while walking.
//!
//! A list whose type has no [`TypeRef::merge_keys`] is replaced as a whole, and so is one without a type: kustomize
//! infers no keys.

mod choice;
mod known;
mod swagger;
mod table;

pub use choice::{SchemaChoice, VERSION};
pub use known::{Schema, TypeRef};

use bumpwright_yaml::Place;

/// Why a schema of `openapi` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A custom schema does not have the form of a swagger file.
    #[error("invalid schema file: {field}: expected {expected}")]
    Shape {
        /// The place in the file.
        place: Place,
        field: String,
        /// What the field must be.
        expected: &'static str,
    },
    /// A custom schema nests deeper than any real one.
    #[error("invalid schema file: nested too deeply")]
    Depth {
        /// The place in the file.
        place: Place,
    },
    /// `openapi: {version: …}` names a version that is not built in.
    #[error("the OpenAPI version {0:?} is not built in; use {VERSION:?}, or a file with `path:`")]
    Version(String),
    /// `openapi:` has both fields.
    #[error("openapi: a builtin version and a custom schema are both given; keep one of `version:` and `path:`")]
    Both,
}

impl SchemaError {
    /// The place of the error.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Shape { place, .. } | Self::Depth { place } => *place,
            Self::Version(_) | Self::Both => Place::NONE,
        }
    }
}
