//! References by name: objects that name others get the names that those have now.
//!
//! ```text
//! ResMap ─▶ Candidates (renamed objects, by former name) ─┐
//! nameReference tables, by kind of referrer ──────────────┴▶ each field that holds a name ─▶ choose ─▶ new name
//! ```
//!
//! [`fix_references`] does it for all resources of a build, once names have their prefixes, suffixes and hashes.
//! [`resolve_vars`] puts the values of variables in, after that.

mod candidates;
mod choose;
mod fix;
mod vars;

pub use fix::{ReferenceError, fix_references};
pub use vars::{VarsError, mark_vars, resolve_vars};
