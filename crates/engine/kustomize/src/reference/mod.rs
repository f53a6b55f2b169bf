//! References by name: objects that refer to renamed ones get the new names.
//!
//! ```text
//! ResMap ─▶ Candidates (renamed objects, by former name) ─┐
//! nameReference tables, by kind of referrer ──────────────┴▶ each field that holds a name ─▶ choose ─▶ new name
//! ```
//!
//! [`fix_references`] does it for all resources of a build, once names have their prefixes, suffixes and hashes.
//! [`resolve_vars`] then inserts the values of variables.

mod candidates;
mod choose;
mod fix;
mod vars;

pub use fix::{ReferenceError, fix_references};
pub use vars::{VarsError, mark_vars, resolve_vars};
