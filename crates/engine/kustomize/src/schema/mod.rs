//! What the kinds look like, as far as merging asks: fields, lists whose elements merge and by which keys, scopes.
//!
//! ```text
//! schema/*.txt ──(once, when first asked)──▶ Schema ◀── custom swagger (`openapi: {path: …}`)
//! SchemaChoice: which of them a build goes by ─▶ Schema ─▶ TypeRef ─▶ field, items, merge_keys
//! ```
//!
//! * [`Schema::builtin`]: Kubernetes' own kinds, as kustomize v5.8.2 knows them (Kubernetes v1.21.2).
//! * [`SchemaChoice`]: kept by a build; told of `openapi:` of each kustomization, asked for the schema and for scopes.
//! * [`Schema::kind`] → [`TypeRef`]: where a merge starts; cheap to copy, no allocation while walking.
//!
//! A list whose type has no [`TypeRef::merge_keys`] is replaced as a whole, and so is one that no schema knows: kustomize
//! infers no keys.

mod choice;
mod known;
mod swagger;
mod table;

pub use choice::{SchemaChoice, VERSION};
pub use known::{Schema, TypeRef};

use bumpwright_yaml::Place;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A custom schema is not shaped as swagger is.
    #[error("invalid schema file: {field}: expected {expected}")]
    Shape {
        /// Where in the file.
        place: Place,
        /// The field.
        field: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A custom schema nests deeper than any real one.
    #[error("invalid schema file: nested too deeply")]
    Depth {
        /// Where in the file.
        place: Place,
    },
    /// `openapi: {version: …}` names another version than the one that is built in.
    #[error("the OpenAPI version {0:?} is not built in; only {VERSION:?} is: name that one, or a file with `path:`")]
    Version(String),
    /// `openapi:` has both fields.
    #[error("openapi: a builtin version and a custom schema are both given; keep one of `version:` and `path:`")]
    Both,
}

impl SchemaError {
    /// Where the fault stands.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Shape { place, .. } | Self::Depth { place } => *place,
            Self::Version(_) | Self::Both => Place::NONE,
        }
    }
}
