//! What a check finds in a fleet, and the reports of it: text, JSON, SARIF, JUnit XML, GitHub's
//! workflow commands and HTML.
//!
//! A [`Finding`] is of one [`Rule`]: a closed set, each with an explanation in `bumpwright explain`. A [`Report`] sorts
//! findings, merges equal ones, and renders them; what somebody has accepted, or a [`Baseline`] has, is counted apart.
//! Names, paths and messages come from repositories that anybody may write to: each rendering escapes what could end a
//! line, forge a finding or move the cursor of a terminal.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod baseline;
mod finding;
mod github;
mod html;
mod json;
mod junit;
mod renderings;
mod report;
mod rule;
mod sarif;
pub mod terminal;
mod text;
mod words;

pub use baseline::{Baseline, BaselineError};
pub use finding::{Acceptance, Finding, Origin, Place, Severity};
pub use github::warning as workflow_warning;
pub use report::Report;
pub use rule::Rule;
