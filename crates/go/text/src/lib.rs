//! Parts of texts and of bytes.
//!
//! A place that was found in a text is a part of it. [`Parts::part`] is where that is checked: tests, recorded cases
//! and fuzzing stop at a place that does not fit. A look ahead, where the text may end, is a [`Parts::tail`], and
//! [`Cuts`] have both sides of a separator, whether it is in the text or not. Where bytes are written by their places
//! (`edit`), a place that does not fit is an error there.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod content_end;
mod cuts;
mod optional;
mod parts;
pub mod pointer;

pub use content_end::ContentEnd;
pub use cuts::{Cuts, Excerpt};
pub use optional::between;
pub use parts::{Parts, Room};
