//! Differences between two sets of objects, by object and field.
//!
//! Objects are matched by a name that callers give; items of lists by their `name` where all of them have one, else by
//! their position. What a Secret holds is never part of a difference, only that it differs.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod fields;
mod json;
mod objects;
mod text;
mod veil;

pub use fields::{Field, fields};
pub use json::json_fields;
pub use objects::{Change, Difference, Named, compare};
pub use text::{to_json, to_text};
pub use veil::Veil;
