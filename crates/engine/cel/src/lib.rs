//! CEL expressions as Flux reads and evaluates them: `fluxcd/pkg/runtime/cel` over cel-go.
//!
//! ```text
//! text ─▶ syntax ─▶ ast ─▶ check (only compiled ones) ─▶ eval(plan) ─▶ plan ─▶ eval(run) ─▶ bool
//! ```
//!
//! Users write these expressions for Flux, and read cel-go's messages in conditions and events; so the grammar, the type
//! checker and the evaluation are ours, with cel-go's rules and texts. What cel-go leaves open is bounded here: how
//! many steps an evaluation takes, how much it makes, how much macros copy, and how much stack anything needs.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod check;
mod error;
mod eval;
mod expression;
mod health;
mod syntax;
mod value;

pub use error::{CompileError, EvalError};
pub use eval::Variables;
pub use expression::{Expression, Ready};
pub use health::{Health, HealthCheck, HealthChecks, HealthExprs};
