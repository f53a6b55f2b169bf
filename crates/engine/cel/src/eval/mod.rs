//! Expressions become plans, and plans values.
//!
//! ```text
//! ast (+ what checking found) ─▶ plan ─▶ nodes ─▶ run (attribute, call) ─▶ value
//! ```
//!
//! Planning does what can be done once: names are looked up, constant conversions made, constant patterns compiled. Some
//! errors show there already, as they do in cel-go with its optimisations on.

mod attribute;
mod budget;
mod call;
mod dates;
mod format;
mod plan;
mod run;
mod strings;

pub use plan::{Plan, plan};
pub use run::Variables;
