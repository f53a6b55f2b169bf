//! Release notes: what images were built from, by their labels, and what the forge of their source says of a release.
//!
//! A label is what a stranger wrote: only the public forges of `forges` are asked, and those that are named.

mod api;
mod ask;
mod forges;

pub use api::{InvalidReleasesApi, ReleasesApi};
pub use ask::{AskedReleases, ImageStep, ask_all};
pub use forges::{Answers, ReleaseForges};
