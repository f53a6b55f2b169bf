//! Whether the types within an expression fit, as far as they are known before it is evaluated.

mod checker;
pub mod functions;
mod typing;

pub use checker::{Checked, Reference, check, qualified_name};
pub use typing::Typing;
