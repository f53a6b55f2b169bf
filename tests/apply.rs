//! Applying, pruning and the inventory, against a real API server: what an object becomes, what is said of it, and what it costs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

#[path = "apply/applying.rs"]
mod applying;
#[path = "apply/deleting.rs"]
mod deleting;
#[path = "apply/fields.rs"]
mod fields;
#[path = "apply/fluxs.rs"]
mod fluxs;
#[path = "apply/measured.rs"]
mod measured;
#[path = "apply/policies.rs"]
mod policies;
#[path = "apply/reaching.rs"]
mod reaching;
#[path = "apply/refusing.rs"]
mod refusing;
#[path = "apply/world.rs"]
mod world;
