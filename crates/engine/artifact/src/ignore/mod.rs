//! Which files of a source become no part of its artifact: `.sourceignore` and `spec.ignore`, as source-controller has them.
//!
//! ```text
//! defaults ◀ file of the root ◀ files below, parents first ◀ spec.ignore      the last pattern that matches decides
//! ```
//!
//! The matching is go-git's (`fluxcd/pkg/sourceignore/gitignore`) and not git's. The names of version control are always
//! ignored at first; the other defaults (images, archives, CI) only as long as nobody wrote a pattern. Every file and directory
//! is asked about on its own: upstream walks ignored directories, too, since a pattern may bring a file of one back.

mod glob;
mod lines;
mod pattern;
mod rules;
mod walk;

pub use rules::{IgnoreFile, IgnoreRules, Verdict};
pub use walk::Walk;
