//! Why a selection, a replacement or a variable fails.

use crate::fields::{ConfigError, Fault};
use bumpwright_yaml::Place;
use thiserror::Error;

/// A selector that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// Not a regular expression.
    #[error("selector {field} {pattern:?} is not a valid regular expression: {reason}")]
    Pattern {
        /// The field of the selector.
        field: &'static str,
        /// The expression.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Too costly.
    #[error("selector {pattern:?} takes too many steps to match; make it simpler")]
    Exhausted {
        /// The expression.
        pattern: String,
    },
    /// Not a label selector.
    #[error("label or annotation selector {selector:?}: {reason}")]
    Labels {
        /// The selector.
        selector: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A replacement that cannot be made.
#[derive(Debug, Error)]
pub enum ReplaceError {
    /// An entry of `replacements:` is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A selector is wrong.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// The source or a target cannot be used.
    #[error("{problem}")]
    Use {
        /// Where the trouble stands: in the entry or in the object.
        place: Place,
        /// What is wrong.
        problem: String,
    },
    /// A field of an object is not as it has to be.
    #[error("{context}: {fault}")]
    Field {
        /// What was tried.
        context: String,
        /// What is wrong.
        #[source]
        fault: Fault,
    },
}

impl ReplaceError {
    /// Where the trouble stands.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Config(error) => error.place(),
            Self::Selector(_) => Place::NONE,
            Self::Use { place, .. } => *place,
            Self::Field { fault, .. } => fault.place,
        }
    }

    pub(super) fn of(place: Place, problem: impl Into<String>) -> Self {
        Self::Use {
            place,
            problem: problem.into(),
        }
    }
}

/// A variable that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VarError {
    /// Two variables have the same name.
    #[error("var '{name}' already encountered; names of vars must differ in all kustomizations of a build")]
    Twice {
        /// The name.
        name: String,
        /// Where the second one stands.
        place: Place,
    },
    /// The field is not in the object.
    #[error("field {path:?} specified in var '{name}' not found in corresponding resource {object}")]
    NoField {
        /// The variable.
        name: String,
        /// The field.
        path: String,
        /// The object.
        object: String,
        /// Where the variable stands.
        place: Place,
    },
}

impl VarError {
    /// Where the variable stands.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Twice { place, .. } | Self::NoField { place, .. } => *place,
        }
    }
}
