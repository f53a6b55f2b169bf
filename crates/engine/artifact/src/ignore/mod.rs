//! Ignore rules of a source: `.sourceignore` and `spec.ignore`, as in source-controller.
//!
//! ```text
//! defaults ◀ file of the root ◀ files below, parents first ◀ spec.ignore      the last pattern that matches decides
//! ```
//!
//! The matching is go-git's (`fluxcd/pkg/sourceignore/gitignore`) and not git's. Names of version control are always
//! ignored, unless a pattern includes them; the other defaults (images, archives, CI) only without any patterns.
//! Every file and directory is matched on its own: upstream walks ignored directories, too, since a pattern may
//! include a file of one.

mod glob;
mod lines;
mod pattern;
mod rules;
mod walk;

pub use rules::{IgnoreFile, IgnoreRules, Verdict};
pub use walk::Walk;
