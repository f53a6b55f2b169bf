//! Image policies: their names and the images that they chose; versions, ranges, and the tag that a range chooses.

mod comparator;
mod constraint;
mod hyphen;
mod identifier;
mod image;
mod name;
mod reference;
mod select;
mod spelling;
mod version;
mod version_error;
mod version_parse;

pub use constraint::{Constraint, ConstraintError, MAX_CONSTRAINT_GROUPS, MAX_CONSTRAINT_LEN};
pub use image::{InvalidImage, LatestRef};
pub use name::PolicyName;
pub use reference::{Identifier, NoReference, Reference, Validation, registry_scheme};
pub use select::{highest_tags, latest_tag};
pub use version::Version;
pub use version_error::{NumberError, VersionError};
pub use version_parse::MAX_VERSION_LEN;
