//! Which phase a connection is in, and when that has to be over.

use parking_lot::Mutex;

use tokio::time::Instant;

use super::Limits;
use super::connections::Slot;

/// A connection's progress. The stream reports what comes and goes, the service and the body of the response the rest.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) limits: Limits,
    pub(super) slot: Slot,
    phase: Mutex<Phase>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing of the next request has come; it is waited for until then.
    Idle(Instant),
    /// The head of a request is coming in; it has to be complete by then.
    Head(Instant),
    /// The body of a request is coming in, or the handler is at work. Both have limits elsewhere.
    Request,
    /// A response is being written; it has to be written by then, unless nobody knows its size. `all` of it has
    /// been handed to hyper.
    Response { until: Option<Instant>, all: bool },
}

impl Progress {
    pub(super) fn new(limits: Limits, slot: Slot) -> Self {
        let first = Instant::now() + limits.first_time.min(limits.idle_time);
        Self {
            limits,
            slot,
            phase: Mutex::new(Phase::Idle(first)),
        }
    }

    pub(super) fn received_bytes(&self) {
        let mut phase = self.phase.lock();
        if let Phase::Idle(_) = *phase {
            *phase = Phase::Head(Instant::now() + self.limits.head_time);
        }
    }

    pub(super) fn received_head(&self) {
        *self.phase.lock() = Phase::Request;
    }

    pub(super) fn received_request(&self) {
        self.slot.busy();
    }

    /// A response of this size begins.
    pub(super) fn responds(&self, size: Option<u64>) {
        let until = size.map(|size| Instant::now() + self.limits.time_for(size));
        *self.phase.lock() = Phase::Response { until, all: false };
    }

    pub(super) fn handed_over_response(&self) {
        if let Phase::Response { all, .. } = &mut *self.phase.lock() {
            *all = true;
        }
    }

    /// All that was handed to hyper has been written.
    pub(super) fn flushed(&self) {
        let mut phase = self.phase.lock();
        if let Phase::Response { all: true, .. } = *phase {
            *phase = Phase::Idle(Instant::now() + self.limits.idle_time);
            self.slot.idle();
        }
    }

    /// When the next bytes have to have come.
    pub(super) fn read_deadline(&self) -> Option<Instant> {
        match *self.phase.lock() {
            Phase::Idle(until) | Phase::Head(until) => Some(until),
            Phase::Request | Phase::Response { .. } => None,
        }
    }

    /// When the response has to be written.
    pub(super) fn write_deadline(&self) -> Option<Instant> {
        match *self.phase.lock() {
            Phase::Response { until, .. } => until,
            Phase::Idle(_) | Phase::Head(_) | Phase::Request => None,
        }
    }

    /// Whether the head of a request did not come in time.
    pub(super) fn is_head_overdue(&self) -> bool {
        matches!(*self.phase.lock(), Phase::Head(until) if until <= Instant::now())
    }
}
