//! CEL expressions as Flux reads and evaluates them: `fluxcd/pkg/runtime/cel` over cel-go.
//!
//! ```text
//! text ─▶ syntax ─▶ ast ─▶ check (only compiled ones) ─▶ eval(plan) ─▶ plan ─▶ eval(run) ─▶ bool
//! ```
//!
//! Users write these expressions for Flux, and read cel-go's messages in conditions and events; so the grammar, the
//! type checker and the evaluation are our own, with cel-go's rules and messages. Unlike cel-go this crate bounds the
//! steps and the memory of an evaluation, the copies of macros, and the stack.

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
