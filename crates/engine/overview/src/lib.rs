//! What is behind, what is stuck and what changed, from the objects of a cluster: the model of `bumpwright status` and
//! of the pages in the browser.
//!
//! ```text
//! objects ─▶ facts (the fields that views need) ─▶ World (by name)
//!     ├─▶ images, automations, kustomizations, releases, sources
//!     ├─▶ attention (ranked), changes (by time)
//!     └─▶ tree, graph, trace (for one object)
//! ```
//!
//! The caller reads the objects, from its caches or from an API server, and leaves out what the reader may not see:
//! [`World::only`]. It answers [`World::doubts`] by more objects, as far as they can be read. Everything here comes
//! from those objects; the statuses of Flux's controllers and of ours are read alike.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod attention;
mod automations;
mod causes;
mod changes;
mod controllers;
mod differences;
mod facts;
mod forge;
mod graph;
mod image;
mod kustomizations;
mod overview;
mod readiness;
mod releases;
mod repositories;
mod sources;
mod trace;
mod tree;
mod world;

#[cfg(test)]
mod tests;

pub use attention::{Attention, Severity};
pub use automations::{Automation, Pushed, PutBack};
pub use changes::{Change, ChangeKind};
pub use differences::Differences;
pub use facts::{Entry, EventFacts, Facts, FieldPlace, Meta};
pub use forge::Forge;
pub use graph::{Edge, Graph, Node};
pub use image::found::{Found, Run, Uses};
pub use image::images::{Image, Stage};
pub use image::named::images_of;
pub use image::uses::Doubt;
pub use image::version::Version;
pub use kustomizations::{Applied, Kustomization};
pub use overview::{Counts, Overview, Tally};
pub use readiness::{Readiness, State};
pub use releases::{Deployed, Release, ReleaseFacts, entry_of as release_entry};
pub use repositories::ImageRepository;
pub use sources::{Source, commit as commit_of_revision};
pub use trace::{Trace, TracedImage};
pub use tree::{Branch, Health};
pub use world::{Controller, Leadership};
pub use world::{Id, World};
