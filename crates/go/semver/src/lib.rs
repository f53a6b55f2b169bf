//! Versions and ranges of Masterminds' semver v3, and selection of the newest version in a range.
//!
//! ```text
//! text ─▶ spelling ─▶ version (lenient, strict, Flux's) ┐
//! text ─▶ hyphen ─▶ spelling ─▶ comparator ─▶ constraint ┴▶ select ─▶ the newest in the range
//! ```

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod comparator;
mod constraint;
mod hyphen;
mod identifier;
mod select;
mod spelling;
mod version;
mod version_error;
mod version_parse;

pub use constraint::{Constraint, ConstraintError, MAX_CONSTRAINT_GROUPS, MAX_CONSTRAINT_LEN};
pub use select::{highest_tags, latest_tag};
pub use version::Version;
pub use version_error::MAX_VERSION_LEN;
pub use version_error::{NumberError, VersionError};
