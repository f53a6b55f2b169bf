//! The parts shared by all controllers: work queue and threads, the course of a reconciliation with status, events and
//! requeues, and observability: logs, metrics, probes.
//!
//! ```text
//! watch ─▶ cache ─▶ Queue ─▶ Driver: finalizer, suspension, Reconcile of the kind, status, event, requeue
//! ```

mod event;
mod logging;
mod observe;
mod reconcile;
mod work;

pub use event::*;
pub use logging::*;
pub use observe::*;
pub use reconcile::dealt::Dealt;
pub use reconcile::driver::{Driver, Reconcile, ReconcileRequest};
pub use reconcile::error::FinalizeError;
pub use reconcile::services::Services;
pub use reconcile::status::{NewEvent, Outcome, REQUESTED_AT, Status};
pub use reconcile::{clock, events, triggers};
pub use work::blocking;
pub use work::permits::{ParkedRequests, threads};
pub use work::queue::{Backoff, Queue, Share};
