//! Strategic merge patches, as kustomize applies them (kyaml's `merge2`, lists grow at the front).
//!
//! ```text
//! object + patch + Schema ─▶ walk: mapping (fields) · list (elements by key) · scalar ─▶ object changed in place
//! ```
//!
//! * [`merge`]: the patch into the object; returns whether the object is deleted (`$patch: delete`).
//! * [`apply`]: the same, and name, namespace and kind stay what they were unless [`Changes`] allows more.
//! * [`prepare`]: prepares a patch for an object that a selector has found.
//! * [`losses`]: items of lists that a patch drops because the kind has no schema.
//!
//! What may surprise, and is so in kustomize v5.8:
//! * `$patch: replace|delete|merge` count in mappings and as an element of their own in lists that merge.
//!   `$retainKeys`, `$setElementOrder/…` and `$deleteFromPrimitiveList/…` are fields like any other.
//! * A list merges its elements only where a schema names a strategy; all others are replaced as they are, including
//!   directives within them.
//! * All of the object is walked, not only the fields of the patch: empty fields (`a:`) are removed, elements of
//!   merging lists with the same key become one.
//! * A value that replaces a scalar takes over its quotes, and with them its type: `80` over `"8080"`
//!   is the string `"80"`.
//! * `$patch: replace` on the whole object has no effect, nor has it on an element of a list that merges.

mod directive;
mod elements;
mod identity;
mod loss;
mod regular;
mod step;
mod walk;

pub(crate) use identity::respell;
pub use identity::{Changes, apply, prepare};
pub use loss::{Loss, losses};
pub use walk::{Merged, merge};

use bumpwright_yaml::Place;

/// An error of a merge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The patch has another kind of value than the object.
    #[error("{path}: wrong node kind: expected {expected} but got {found}")]
    Kind {
        /// The field, as `spec.template`.
        path: String,
        /// The object's kind of node.
        expected: &'static str,
        /// The patch's kind of node.
        found: &'static str,
        place: Place,
    },
    /// `$patch` has an unknown value.
    #[error("{path}: unknown patch strategy '{strategy}': `$patch` is one of delete, merge, replace")]
    Directive {
        path: String,
        strategy: String,
        place: Place,
    },
    /// The nesting exceeds a limit beyond any real object.
    #[error("{path}: nested too deeply")]
    Depth { path: String, place: Place },
}

impl MergeError {
    /// The place of the error: mostly in the patch.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Kind { place, .. } | Self::Directive { place, .. } | Self::Depth { place, .. } => *place,
        }
    }

    /// The same error, with the field of the parent.
    fn below(mut self, part: &str) -> Self {
        let (Self::Kind { path, .. } | Self::Directive { path, .. } | Self::Depth { path, .. }) = &mut self;
        match path.as_str() {
            "" => part.clone_into(path),
            _ => path.insert_str(0, &format!("{part}.")),
        }
        self
    }
}
