//! The pages of the browser's view as HTML. The caller serves them, and has left out what the reader may not see; here
//! nothing is read and nobody is asked.
//!
//! ```text
//! path  ─▶ Route::parse ─▶ the caller reads objects ─▶ Page ─┐
//! query ─▶ Listing::parse ───────────────────────────────────┼─▶ render ─▶ HTML
//!                  Frame: who, when, which page ─────────────┘
//! ```
//!
//! Templates are in `templates/ui`; those of [`report`]s, which commands write, in `templates/report`. Whatever comes
//! from objects is escaped, also where it would change the direction of text or is invisible (`escape`); links lead to
//! paths of [`Route`] or, by HTTPS, to a forge.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)
)]

mod action;
mod assets;
mod escape;
mod frame;
mod listing;
mod page;
mod render;
pub mod report;
pub mod request;
mod route;
mod search;
mod subject;
mod view;

pub use action::Action;
pub use assets::{SCRIPT, STYLE, script_path, style_path};
pub use frame::Frame;
pub use listing::Listing;
pub use page::{Health, Inventory, ObjectPage, Page, Run, TagRow};
pub use render::{RenderError, render};
pub use route::Route;
pub use search::{Found, Hit, search};
pub use subject::{ShortCommit, Subject};
