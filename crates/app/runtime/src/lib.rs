//! What every controller needs, whatever its kind: a work queue and threads, the course of a reconciliation with status, events and
//! requeues, and what others see of it: logs, metrics, probes.
//!
//! ```text
//! watch ─▶ cache ─▶ Queue ─▶ Driver: finalizer, suspension, Reconcile of the kind, status, event, requeue
//! ```

mod observe;
mod reconcile;
mod work;

pub use observe::*;
pub use reconcile::driver::{Driver, Reconcile, Turn};
pub use reconcile::services::Services;
pub use reconcile::status::{Notice, Outcome, REQUESTED_AT, Status, Weight};
pub use reconcile::{clock, events, triggers};
pub use work::blocking;
pub use work::places::{WaitingRoom, threads};
pub use work::queue::{Backoff, Queue, Share};
