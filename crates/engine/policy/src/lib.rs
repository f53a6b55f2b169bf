//! Image policies: filters and rules, the choice among tags with its reasons, guards; and image references.
//!
//! ```text
//! tags ─▶ filter (spec.filterTags) ─▶ rule (range, alphabet, numbers) ─▶ choose ─▶ a tag, or the reason for none
//!                                                                      └▶ explain ─▶ each tag with its verdict
//! tag, digest (if reflected) ─▶ LatestRef
//!     ─▶ guard (hold, minimum age, downgrade, promotion, signatures, failures, windows)
//! ```
//!
//! Choices and messages are those of image-reflector-controller v1.2.0; guards are our own (docs/cli.md,
//! *Annotations*). Tags and digests are arguments: `crates/flow/scan` fetches them from registries.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod annotation;
mod choose;
mod digest;
mod explain;
mod failed;
mod filter;
mod guard;
mod image;
mod name;
mod natural;
mod promotion;
mod reference;
mod rule;
mod verification;
mod version;

pub use annotation::{InvalidAnnotation, PREFIX as ANNOTATION_PREFIX};
pub use choose::{ImagePolicy, InvalidPolicy, NoTag};
pub use digest::{DigestReflection, DigestSource, InvalidReflection};
pub use explain::{Explanation, Judgement, Survey, Verdict};
pub use failed::{FAILED_VERSIONS, FailedVersion, FailedVersions};
pub use filter::{Exclusions, FilterSpec, InvalidExclusion, InvalidPattern, UnknownGroup};
pub use guard::{GuardRefusal, Guards, Hold, PathPromotion, read_windows};
pub use image::{InvalidImage, LatestRef};
pub use name::PolicyName;
pub use natural::compare_naturally;
pub use promotion::{PROMOTION_ANNOTATIONS, Promotion};
pub use reference::{Identifier, NoReference, Reference, Validation, registry_scheme};
pub use rule::{InvalidRule, RuleSpec};
pub use verification::{Identity, Provenance, Signers, Text, TrustedRootRef, Verification};
pub use version::{tag_of_version, version_of_tag};

// What guards and automations are made of.
pub use bumpwright_window::{Closed, Windows};

// The error of filters and exclusions that take too long.
pub use bumpwright_re2::Exhausted;
