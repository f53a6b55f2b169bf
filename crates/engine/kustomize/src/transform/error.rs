//! Errors of transformers.

use crate::fields::{ConfigError, FieldError};
use bumpwright_yaml::Place;
use thiserror::Error;

/// An error of a transformer.
#[derive(Debug, Error)]
pub enum TransformError {
    /// A field has the wrong form.
    #[error("{what}: {source}")]
    Field {
        /// The transformer.
        what: &'static str,
        source: FieldError,
    },
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Two objects have the same id after the namespace was set.
    #[error("namespace transformation produces ID conflict: {count} objects are {id}; rename or drop all but one")]
    Conflict {
        id: String,
        /// How many objects have it.
        count: usize,
        /// The place of one of them.
        place: Place,
    },
    /// No object has the name, or none with the name has replicas.
    #[error("resource with name {name} does not match a config with the following GVK [{types}]")]
    NoReplicas {
        name: String,
        types: String,
        /// The place of the entry of `replicas:`.
        place: Place,
    },
    /// A selector is not a regular expression, or too costly to match.
    #[error(transparent)]
    Selector(#[from] crate::replace::SelectorError),
}

impl TransformError {
    /// The place of the error.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Field { source, .. } => source.place(),
            Self::Config(error) => error.place(),
            Self::Conflict { place, .. } | Self::NoReplicas { place, .. } => *place,
            Self::Selector(_) => Place::NONE,
        }
    }

    /// Converts the error of a field.
    pub(super) const fn of(what: &'static str) -> impl FnOnce(FieldError) -> Self {
        move |source| Self::Field { what, source }
    }
}
