//! Differences between two sets of objects, by object and field.
//!
//! Objects are matched by a name from the caller; items of lists by their `name` if all of them have one, else by their
//! position. A difference never contains values of a Secret, only the fact that they differ.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod fields;
mod json;
mod marks;
mod objects;
mod secret_mask;
mod text;

pub use fields::{Field, fields};
pub use json::json_fields;
pub use marks::{Part, Row, rows, words};
pub use objects::{Change, Difference, Named, compare};
pub use secret_mask::{SecretMask, secret_forms};
pub use text::{field_to_json, field_to_text, to_json, to_text};
