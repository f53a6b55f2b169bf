//! Image policies: filters and rules, the choice among tags with its reasons, guards; and image references.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod annotation;
mod choose;
mod digest;
mod explain;
mod filter;
mod guard;
mod image;
mod name;
mod natural;
mod reference;
mod rule;

pub use annotation::{InvalidAnnotation, PREFIX as ANNOTATION_PREFIX};
pub use choose::{ImagePolicy, InvalidPolicy, NoTag};
pub use digest::{DigestReflection, DigestSource, InvalidReflection};
pub use explain::{Explanation, Judgement, Survey, Verdict};
pub use filter::{Exclusions, FilterSpec, InvalidExclusion, InvalidPattern};
pub use guard::{Guards, Hold, Refusal};
pub use image::{InvalidImage, LatestRef};
pub use name::PolicyName;
pub use reference::{Identifier, NoReference, Reference, Validation, registry_scheme};
pub use rule::{InvalidRule, RuleSpec};

// What filters and exclusions may run out of.
pub use bumpwright_re2::Exhausted;
