//! The frame of a reconciliation, the same for all kinds: from the queue to status, event and requeue.

pub mod clock;
pub mod dealt;
pub mod driver;
pub mod error;
pub mod events;
mod finalizer;
mod rivals;
pub mod services;
pub mod status;
pub mod triggers;
