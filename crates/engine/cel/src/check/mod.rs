//! Static checks of an expression: types, as far as they are known before the evaluation, and cel-go's validators.

mod checker;
pub mod format_clause;
pub mod functions;
mod typing;
mod validate;

pub use checker::{Checked, Reference, check, qualified_name};
pub use typing::Typing;
