//! Errors of selectors, replacements and variables.

use crate::fields::{ConfigError, Fault};
use bumpwright_yaml::Place;
use thiserror::Error;

/// Why the selector of a replacement is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// Not a regular expression.
    #[error("selector {field} {pattern:?} is not a valid regular expression: {reason}")]
    Pattern {
        /// The field of the selector.
        field: &'static str,
        pattern: String,
        reason: String,
    },
    /// Too costly to match.
    #[error("selector {pattern:?} takes too many steps to match; make it simpler")]
    Exhausted { pattern: String },
    /// Not a label selector.
    #[error("label or annotation selector {selector:?}: {reason}")]
    Labels {
        selector: String,
        #[source]
        reason: LabelError,
    },
}

/// Why a text is not a label selector, in Kubernetes' words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LabelError {
    /// A sign, key or value is expected, and something else found.
    #[error("found '{found}', expected: {expected}")]
    Unexpected {
        /// The token that was found; empty at the end.
        found: String,
        /// What has to be there.
        expected: &'static str,
    },
    /// A key could not be that of a label.
    #[error("invalid label key {0:?}")]
    Key(String),
    /// A value could not be that of a label.
    #[error("invalid label value {0:?}")]
    Value(String),
    /// What a label is compared with is not a number.
    #[error("for 'Gt', 'Lt' operators, the value must be an integer")]
    NotANumber,
}

/// A part of a path in brackets that does not name an item.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("list path element {0:?} must contain fieldName=fieldValue for element to match")]
pub(super) struct NoSelection(pub(super) String);

/// A replacement that cannot be applied.
#[derive(Debug, Error)]
pub enum ReplaceError {
    /// An entry of `replacements:` is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A selector is invalid.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// The source or a target cannot be used.
    #[error("{problem}")]
    Use {
        /// The place of the error: in the entry or in the object.
        place: Place,
        problem: String,
    },
    /// A field of an object has the wrong form.
    #[error("{context}: {fault}")]
    Field {
        /// The attempted step.
        context: String,
        #[source]
        fault: Fault,
    },
}

impl ReplaceError {
    /// The place of the error.
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

/// Why a variable of `vars` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VarError {
    /// Two variables have the same name.
    #[error("var '{name}' already encountered; names of vars must differ in all kustomizations of a build")]
    Twice {
        name: String,
        /// The place of the second one.
        place: Place,
    },
    /// The object does not have the field.
    #[error("field {path:?} specified in var '{name}' not found in corresponding resource {object}")]
    NoField {
        name: String,
        path: String,
        object: String,
        /// The place of the variable.
        place: Place,
    },
}

impl VarError {
    /// The place of the variable.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Twice { place, .. } | Self::NoField { place, .. } => *place,
        }
    }
}
