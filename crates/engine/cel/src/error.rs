//! What can be wrong with expressions, in the words of Flux.

use thiserror::Error;

/// An expression is not one, or not one of the kind that is needed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// It is not written as it must be, or its types do not fit. The messages show line and place.
    #[error("failed to parse the CEL expression '{expression}': {messages}")]
    Parse {
        /// The expression.
        expression: String,
        /// What is wrong, one message for each place.
        messages: String,
    },
    /// It could never be evaluated.
    #[error("failed to create CEL program: {0}")]
    Plan(String),
    /// Its result is never a boolean.
    #[error("CEL expression output type mismatch: expected bool, got {0}")]
    Result(String),
    /// A health check without the expression for being current.
    #[error("expression Current not specified")]
    NoCurrent,
    /// One of the expressions of a health check.
    #[error("failed to parse the expression {name}: {error}")]
    Of {
        /// `Current`, `Failed` or `InProgress`.
        name: &'static str,
        /// What is wrong with it.
        error: Box<CompileError>,
    },
    /// Two health checks are for the same kind.
    #[error("duplicate custom health check for GroupKind {kind} at healthchecks[{index}]")]
    Duplicate {
        /// Kind and group: `Kind.group`.
        kind: String,
        /// The place of the second one, from 0.
        index: usize,
    },
    /// One of several health checks.
    #[error("failed to create custom status evaluator for healthchecks[{index}]: {error}")]
    At {
        /// Its place, from 0.
        index: usize,
        /// What is wrong with it.
        error: Box<CompileError>,
    },
}

/// An expression has no boolean value for these variables.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvalError {
    /// It has no value.
    #[error("failed to evaluate the CEL expression '{expression}': {reason}")]
    NoValue {
        /// The expression.
        expression: String,
        /// Why: a field that is missing, types that do not fit.
        reason: String,
    },
    /// Its value is something else.
    #[error("failed to evaluate CEL expression as boolean: '{expression}'")]
    NotBoolean {
        /// The expression.
        expression: String,
    },
}
