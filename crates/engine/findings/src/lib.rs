//! What a check finds in a fleet, and the reports of it.
//!
//! A [`Finding`] is of one [`Rule`]: a closed set, each with an explanation in `bumpwright explain`.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod finding;
mod rule;

pub use finding::{Finding, Origin, Place, Severity};
pub use rule::Rule;
