//! The browser's view: what is behind, what is stuck and what changed, as pages (`docs/guides/ui.md`).
//!
//! ```text
//! watches ─▶ snapshot (one World, at most once a second) ─▶ view (only what this person may see) ─▶ page
//! request ─▶ auth (who is it?) ─▶ rights (which kinds, in which namespaces?) ────┘
//! ```
//!
//! Data flows one way: nothing that renders can reach the snapshot. The model is `bumpwright_overview`, the HTML
//! `bumpwright_pages`. While nobody looks, nothing is watched and no snapshot or view is kept.

mod actions;
mod auth;
mod call;
mod doors;
mod kinds;
mod live;
mod page;
mod reply;
mod rights;
mod room;
mod server;
mod settings;
mod shares;
mod snapshot;
pub mod uses;
mod view;
mod watches;

pub use auth::{Auth, ProxyAuth, ProxyAuthError};
pub use page::history::{Differences, NoDifference};
pub use page::requests::{RequestReader, Requests};
pub use page::tags::TagReader;
pub use server::{Start, serve};
pub use settings::UiSettings;
pub use snapshot::Fields;
pub use watches::Watches;
