//! Policies, repositories, automations and markers from the settings of argocd-image-updater and Flux v1: annotations
//! of Applications, of workloads and of HelmReleases, and `ImageUpdater` objects.
//!
//! ```text
//! files ─▶ trees ─▶ settings of an image (argocd, flux_v1) ─▶ objects (policies …) ─▶ render: one readable YAML file
//!                                                          ├─▶ marks: the fields that were written, by `edit`
//!                                                          └─▶ adopted annotations, taken out by `migrate`
//! ```
//!
//! What files, names and objects are, and how they are written, is shared with the `propose` crate.
//!
//! Nothing is guessed in silence. What bumpwright has no words for is a [`Remark`] with its place, the reason and the
//! way out; the annotations of an object that has such remarks stay where they are. An edited file is parsed again, and
//! has to be the tree of before without those annotations.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod adopted;
mod annotations;
mod argocd;
mod draft;
mod error;
mod fields;
mod files;
mod flux_v1;
mod glob;
mod image;
mod known;
mod objects;
mod remarks;
mod render;

pub use adopted::Kind;
pub use adopted::{Access, Policy, Repository, Rule};
pub use argocd::argocd_image_updater;
pub use draft::{Adoption, Edited, Options};
pub use files::{Files, Parsed, SourceFile, common, is_chart_template, join, object, parent};
pub use flux_v1::flux_v1;
pub use image::object_name;
pub use remarks::{Remark, Weight};
pub use render::{Commits, automation, policy, repository};
