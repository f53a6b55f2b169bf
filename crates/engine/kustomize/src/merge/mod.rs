//! Strategic merge patches, as kustomize applies them (kyaml's `merge2`, lists grow at the front).
//!
//! ```text
//! object + patch + Schema ─▶ walk: mapping (fields) · list (elements by key) · scalar ─▶ object changed in place
//! ```
//!
//! * [`merge`]: the patch into the object; tells whether the object is gone (`$patch: delete`).
//! * [`apply`]: the same, and name, namespace and kind stay what they were unless [`Changes`] allows more.
//! * [`prepare`]: what happens to a patch before it meets an object that a selector has found.
//!
//! What one may not expect, and what holds in kustomize v5.8:
//! * `$patch: replace|delete|merge` count in mappings and as an element of their own in lists that merge. `$retainKeys`,
//!   `$setElementOrder/…` and `$deleteFromPrimitiveList/…` mean nothing: they are fields like any other.
//! * A list merges its elements only where a schema names a strategy; all others are replaced as they stand, directives
//!   within them included.
//! * All of the object is walked, not only what the patch names: fields that are empty (`a:`) go away, elements of merging
//!   lists with the same key become one.
//! * A value that replaces a scalar takes over its quotes, and with them its type: `80` over `"8080"` is the string `"80"`.
//! * `$patch: replace` on the whole object changes nothing, and so it does on an element of a list that merges.

mod directive;
mod elements;
mod identity;
mod regular;
mod walk;

pub(crate) use identity::respell;
pub use identity::{Changes, apply, prepare};
pub use walk::{Merged, merge};

use bumpwright_yaml::Place;

/// Why a patch does not merge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The patch has another kind of value than the object.
    #[error("{path}: wrong node kind: expected {expected} but got {found}")]
    Kind {
        /// The field, as `spec.template`.
        path: String,
        /// What the object has there.
        expected: &'static str,
        /// What was found.
        found: &'static str,
        /// Where that stands.
        place: Place,
    },
    /// `$patch` says something unknown.
    #[error("{path}: unknown patch strategy '{strategy}': `$patch` is one of delete, merge, replace")]
    Directive {
        /// The field.
        path: String,
        /// What it says.
        strategy: String,
        /// Where it stands.
        place: Place,
    },
    /// More levels than a real object has.
    #[error("{path}: nested too deeply")]
    Depth {
        /// The field.
        path: String,
        /// Where it stands.
        place: Place,
    },
}

impl MergeError {
    /// Where the fault stands: in the patch, mostly.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Kind { place, .. } | Self::Directive { place, .. } | Self::Depth { place, .. } => *place,
        }
    }

    /// The same fault, seen from one level up.
    fn below(mut self, part: &str) -> Self {
        let (Self::Kind { path, .. } | Self::Directive { path, .. } | Self::Depth { path, .. }) = &mut self;
        match path.as_str() {
            "" => part.clone_into(path),
            _ => path.insert_str(0, &format!("{part}.")),
        }
        self
    }
}
