//! Evaluation: expressions are planned, and plans are run.
//!
//! ```text
//! ast (+ results of checking) ─▶ plan ─▶ nodes ─▶ run (attribute, call) ─▶ value
//! ```
//!
//! Planning does the work that is the same for all variables: it looks up functions, converts constants, compiles
//! constant patterns. Some errors occur there already, as in cel-go with its optimisations on.

mod attribute;
mod budget;
mod call;
mod dates;
mod format;
mod outcome;
mod plan;
mod run;
mod strings;
mod tree;

pub use plan::{Plan, plan};
pub use run::Variables;
