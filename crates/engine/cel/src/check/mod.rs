//! Whether the types within an expression fit, as far as they are known before it is evaluated.

mod checker;
pub mod format_clause;
pub mod functions;
mod typing;
mod validate;

pub use checker::{Checked, Reference, check, qualified_name};
pub use typing::Typing;
