//! Webhooks of forges and registries: proof of a request, the events in it, and the objects to reconcile because of them.
//!
//! ```text
//! request + tokens ─▶ receive(route, limit, proof, payload) ─▶ events ─▶ select(objects) ─▶ ids to annotate
//!                                                    └─▶ refusal: status, short answer, line for the log
//! ```
//!
//! Nothing here listens, reads a Secret or writes an annotation. A request is proved before a byte of its body is read
//! as JSON. What comes out is advice only: an event never carries what is applied, it makes an object look at the place
//! that its own spec names. So a match that is too wide costs one look, and one that is too narrow costs an interval;
//! where spellings may differ, the wide one is taken.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod address;
mod answer;
mod event;
mod follow;
mod image_name;
mod payload;
mod proof;
mod provider;
mod receive;
mod refusal;
mod request;
mod select;
mod tokens;

pub use address::Address;
pub use answer::answer;
pub use event::{Event, Image, Push};
pub use follow::{GitReference, OciReference};
pub use image_name::ImageName;
pub use provider::Provider;
pub use receive::{MAX_BODY, MAX_EVENTS, PATH_PREFIX, receive};
pub use refusal::Refusal;
pub use request::Request;
pub use select::{Id, Kind, Object, Source, matches_git, matches_image, matches_oci, select};
pub use tokens::{InvalidEntry, Tokens};
