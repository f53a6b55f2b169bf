//! Image policies: their names and the images that they chose; versions and ranges; which tag a policy
//! chooses, and why.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod annotation;
mod choose;
mod comparator;
mod constraint;
mod digest;
mod explain;
mod filter;
mod guard;
mod hyphen;
mod identifier;
mod image;
mod name;
mod natural;
mod reference;
mod rule;
mod select;
mod spelling;
mod version;
mod version_error;
mod version_parse;

pub use annotation::{InvalidAnnotation, PREFIX as ANNOTATION_PREFIX};
pub use choose::{ImagePolicy, InvalidPolicy, NoTag};
pub use constraint::{Constraint, ConstraintError, MAX_CONSTRAINT_GROUPS, MAX_CONSTRAINT_LEN};
pub use digest::{DigestReflection, DigestSource, InvalidReflection};
pub use explain::{Explanation, Judgement, Survey, Verdict};
pub use filter::{Exclusions, FilterSpec, InvalidExclusion, InvalidPattern};
pub use guard::{Guards, Hold, Refusal};
pub use image::{InvalidImage, LatestRef};
pub use name::PolicyName;
pub use reference::{Identifier, NoReference, Reference, Validation, registry_scheme};
pub use rule::{InvalidRule, RuleSpec};
pub use select::{highest_tags, latest_tag};
pub use version::Version;
pub use version_error::{NumberError, VersionError};
pub use version_parse::MAX_VERSION_LEN;

// What filters and exclusions may run out of.
pub use bumpwright_re2::Exhausted;
