//! Policies, repositories, an automation and markers for images and charts that no policy follows yet, from the files
//! that use them and the tags that registries have.
//!
//! ```text
//! files ─▶ uses, charts (fields with a version, without a marker) ─▶ survey ─▶ listings: what to ask for tags, and how
//! tags of an image, tag in use ─▶ tag (pieces) ─▶ shape: the series ─▶ pattern: filter and rule ─▶ evaluated
//! survey + tags ─▶ proposal: objects (written by `adopt`), markers (by `edit`), a reason for each, and for the rest
//! ```
//!
//! Nothing is guessed in silence. A policy is proposed only if it chooses, evaluated by the `policy` crate over
//! the very tags, one of the series of the tag in use that is not older; else the image is left, with the reason
//! and the way out.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod charts;
mod error;
mod fields;
mod found;
mod known;
mod kustomized;
mod listed;
mod listing;
mod options;
mod pattern;
mod proposal;
mod rendered;
mod renovate;
mod shape;
mod tag;
mod uses;

pub use error::{Misfit, NoShape};
pub use found::{Left, Survey, Use};
pub use listed::Listing;
pub use listing::repositories;
pub use options::Options;
pub use pattern::Choice;
pub use proposal::{Answers, Proposal, Proposed, Unanswered, propose};
pub use rendered::{ImageFields, ImageValue, Rendered, Values, image_fields};
pub use renovate::{Renovate, SETTINGS_FILES};
pub use shape::{Shape, shape};
pub use uses::survey;
