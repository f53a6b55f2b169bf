//! Errors of our annotations.

use bumpwright_gostd::quote;
use thiserror::Error;

/// Prefix of our annotations.
pub const PREFIX: &str = "bumpwright.dev/";

/// An invalid annotation: its object is not acted upon.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidAnnotation {
    /// The value does not parse.
    #[error("annotation {PREFIX}{key}: {} is not {grammar}", quote(value))]
    Value {
        /// Its key, without the prefix.
        key: &'static str,
        value: String,
        grammar: &'static str,
    },
    /// The value does not parse, for a reason that names the part of it.
    #[error("annotation {PREFIX}{key}: {why}")]
    Part {
        /// Its key, without the prefix.
        key: &'static str,
        why: String,
    },
    /// It means nothing beside the others.
    #[error("annotation {PREFIX}{key}: {why}")]
    Beside {
        /// Its key, without the prefix.
        key: String,
        why: &'static str,
    },
    /// It qualifies another one, which is missing.
    #[error("annotation {PREFIX}{key} says nothing without {PREFIX}{needed}")]
    Alone {
        /// Its key, without the prefix.
        key: &'static str,
        /// The key of the other one.
        needed: &'static str,
    },
    /// The kind has no annotation with this key.
    #[error("annotation {PREFIX}{key} is unknown: {hint}")]
    Key {
        /// The key, without the prefix.
        key: String,
        /// A hint at what was meant.
        hint: String,
    },
}

impl InvalidAnnotation {
    /// A value that is not of the grammar.
    pub(super) fn value(key: &'static str, value: &str, grammar: &'static str) -> Self {
        Self::Value {
            key,
            value: value.to_owned(),
            grammar,
        }
    }
}
