//! Errors of expressions, with Flux's messages.

use thiserror::Error;

/// An expression that is not valid, or not of the required type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    /// A syntax or type error. The messages show line and column.
    #[error("failed to parse the CEL expression '{expression}': {messages}")]
    Parse {
        expression: String,
        /// The faults, one message for each place.
        messages: String,
    },
    /// An expression that fails with any variables.
    #[error("failed to create CEL program: {0}")]
    Plan(String),
    /// An expression whose result is never a boolean.
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
        error: Box<CompileError>,
    },
    /// Two health checks are for the same kind.
    #[error("duplicate custom health check for GroupKind {kind} at healthchecks[{index}]")]
    Duplicate {
        /// Kind and group: `Kind.group`.
        kind: String,
        /// The index of the second one.
        index: usize,
    },
    /// One of several health checks.
    #[error("failed to create custom status evaluator for healthchecks[{index}]: {error}")]
    At {
        index: usize,
        /// What is wrong with it.
        error: Box<CompileError>,
    },
}

/// An expression without a boolean value for the given variables.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvalError {
    #[error("failed to evaluate the CEL expression '{expression}': {reason}")]
    NoValue {
        expression: String,
        /// The reason, such as a missing field or operands of wrong types.
        reason: String,
    },
    /// The value is not a boolean.
    #[error("failed to evaluate CEL expression as boolean: '{expression}'")]
    NotBoolean { expression: String },
}
