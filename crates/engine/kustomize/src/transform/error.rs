//! Why a transformer gave up.

use crate::fields::{ConfigError, FieldError};
use bumpwright_yaml::Place;
use thiserror::Error;

/// A transformer could not do its work.
#[derive(Debug, Error)]
pub enum TransformError {
    /// A field is not as it has to be.
    #[error("{what}: {source}")]
    Field {
        /// The transformer.
        what: &'static str,
        /// The field.
        source: FieldError,
    },
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Two objects have the same id in the namespace they were put into.
    #[error("namespace transformation produces ID conflict: {count} objects are {id}; rename or drop all but one")]
    Conflict {
        /// The id.
        id: String,
        /// How many have it.
        count: usize,
        /// Where one of them stands.
        place: Place,
    },
    /// No object has the name, or none of a type that has replicas.
    #[error("resource with name {name} does not match a config with the following GVK [{types}]")]
    NoReplicas {
        /// The name.
        name: String,
        /// The types.
        types: String,
        /// Where the entry of `replicas:` stands.
        place: Place,
    },
    /// A selector is no regular expression, or too costly to match.
    #[error(transparent)]
    Selector(#[from] crate::replace::SelectorError),
}

impl TransformError {
    /// Where the trouble stands.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Field { source, .. } => source.place(),
            Self::Config(error) => error.place(),
            Self::Conflict { place, .. } | Self::NoReplicas { place, .. } => *place,
            Self::Selector(_) => Place::NONE,
        }
    }

    /// Makes the error of a transformer out of one of a field.
    pub(super) const fn of(what: &'static str) -> impl FnOnce(FieldError) -> Self {
        move |source| Self::Field { what, source }
    }
}
