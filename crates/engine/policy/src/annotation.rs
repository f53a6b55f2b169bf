//! Annotations of ours: what is said of those that cannot be followed.

use bumpwright_gostd::quote;
use thiserror::Error;

/// What all annotations of ours begin with.
pub const PREFIX: &str = "bumpwright.dev/";

/// An annotation that cannot be followed: its object is not acted upon.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidAnnotation {
    /// The value does not parse.
    #[error("annotation {PREFIX}{key}: {} is not {grammar}", quote(value))]
    Value {
        /// Its key, without the prefix.
        key: &'static str,
        /// Its value.
        value: String,
        /// What the value has to be.
        grammar: &'static str,
    },
    /// Objects of the kind have no annotation of that key.
    #[error("annotation {PREFIX}{key} is unknown: {hint}")]
    Key {
        /// The key, without the prefix.
        key: String,
        /// What was meant, as far as that shows.
        hint: String,
    },
}
