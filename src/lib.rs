//! bumpwright keeps Kubernetes clusters up to date from Git.
//!
//! ```text
//! policy + repository:  policy ─▶ edit ─▶ git(fetch, commit, push)
//! ```
//!
//! The rooms, and what each is for (`tests/architecture.rs` holds who may import whom):
//!
//! | room | kind | what it is for |
//! |---|---|---|
//! | [`cli`] | glue | arguments as typed, what they mean, one file per command |
//! | [`automation`] | glue | one run of an image update automation: resolve, fetch, plan, splice, commit, push, report |
//! | [`api`] | pure | wire types of the Kubernetes kinds, in all their versions |
//! | [`policy`] | pure | names of policies, the images that they chose, versions and ranges |
//! | [`edit`] | pure | markers in YAML: scan, plan, splice; only the bytes of marked scalars change |
//! | [`message`] | pure | commit messages: the data of templates, limits, hints |
//! | [`sprig`] | pure | Sprig's functions for templates, by family |
//! | [`template`] | pure | Go's text/template and fmt over values with Go types |
//! | [`re2`] | pure | Go's regular expressions, in linear time |
//! | [`gostd`] | pure | Go's quoting, numbers, durations, dates and URLs, to the letter |
//! | [`git`] | IO | mirror, transports, fetch, trees, commits, packs, push |

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod api;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // edits folders in place, keeps its index on disk
pub mod automation;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // reads arguments, environment and files
pub mod cli;
pub mod edit;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // reads and writes repositories, here and on servers
pub mod git;
pub mod gostd;
pub mod message;
pub mod policy;
pub mod re2;
pub mod sprig;
pub mod template;
