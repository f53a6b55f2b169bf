//! Webhooks of forges and registries: authentication of a request, its events, and the objects to reconcile.
//!
//! ```text
//! request + tokens ─▶ receive(route, limit, proof, payload) ─▶ events ─▶ select(objects) ─▶ ids to annotate
//!                                                    └─▶ rejection: status, short answer, line for the log
//! ```
//!
//! Nothing here listens, reads a Secret or writes an annotation. A request is authenticated before its body is parsed,
//! except that Gitea's signature is over the JSON in a form. Events are only hints: they never contain what is applied,
//! but cause the reconciliation of objects from the place in their own spec. So a match that is too wide costs one
//! reconciliation, and one that is too narrow costs an interval; where spellings may differ, the wider match is used.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod address;
mod answer;
mod bounds;
mod event;
mod follow;
mod image_name;
mod payload;
mod proof;
mod provider;
mod receive;
mod rejection;
mod request;
mod select;
mod tokens;

pub use address::Address;
pub use answer::answer;
pub use bounds::{MAX_BODY, MAX_EVENTS};
pub use event::{Event, Image, Push};
pub use follow::{GitReference, OciReference};
pub use image_name::ImageName;
pub use provider::Provider;
pub use receive::receive;
pub use rejection::Rejection;
pub use request::Request;
pub use select::{Id, Object, Target, TargetKind, matches_git, matches_image, matches_oci, select};
pub use tokens::{InvalidEntry, Tokens};
