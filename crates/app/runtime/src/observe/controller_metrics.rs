//! The metrics of one controller and its queue, as in controller-runtime.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::metric::{Counter, Gauge, Histogram};
use super::metrics::Families;

/// How a reconciliation ended (controller-runtime, `internal/controller`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Done, without a requeue.
    Success,
    /// Done, requeued at once.
    Requeue,
    /// Done, requeued after some time.
    RequeueAfter,
    /// Failed, requeued with backoff.
    Error,
    /// Failed; a retry would not help.
    TerminalError,
}

/// controller-runtime's metrics of one controller. A clone is cheap and has the same cells; only
/// [`ControllerMetrics::started`] allocates, to remember a moment.
#[derive(Clone, Debug)]
pub struct ControllerMetrics(Arc<Cells>);

#[derive(Debug)]
struct Cells {
    success: Counter,
    requeue: Counter,
    requeue_after: Counter,
    error: Counter,
    errors: Counter,
    terminal_errors: Counter,
    panics: Counter,
    timeouts: Counter,
    time: Histogram,
    active: Gauge,
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    queued: Histogram,
    work: Histogram,
    unfinished: Gauge,
    longest: Gauge,
    running: Mutex<Running>,
}

/// The start times of running reconciliations.
#[derive(Debug, Default)]
struct Running {
    next: u64,
    since: BTreeMap<u64, Instant>,
}

impl ControllerMetrics {
    /// Creates the cells of a controller at zero, so that they are visible before the first reconciliation.
    pub(super) fn new(families: &Families, controller: &str, workers: usize) -> Self {
        let result = |result| families.reconcile.total.with(&[controller, result]);
        let [one, queue] = [&[controller][..], &[controller, controller][..]];
        families.reconcile.max_concurrent.with(one).set(workers as f64);
        Self(Arc::new(Cells {
            success: result("success"),
            requeue: result("requeue"),
            requeue_after: result("requeue_after"),
            error: result("error"),
            errors: families.reconcile.errors.with(one),
            terminal_errors: families.reconcile.terminal_errors.with(one),
            panics: families.reconcile.panics.with(one),
            timeouts: families.reconcile.timeouts.with(one),
            time: families.reconcile.time.with(one),
            active: families.reconcile.active_workers.with(one),
            // controller-runtime's queues have priorities; here all objects have the default one.
            depth: families.queue.depth.with(&[controller, controller, "0"]),
            adds: families.queue.adds.with(queue),
            retries: families.queue.retries.with(queue),
            queued: families.queue.queue_duration.with(queue),
            work: families.queue.work_duration.with(queue),
            unfinished: families.queue.unfinished.with(queue),
            longest: families.queue.longest_running.with(queue),
            running: Mutex::default(),
        }))
    }

    /// An object was queued; not called for one that is queued already.
    pub fn queued(&self) {
        self.0.adds.increment();
        self.0.depth.add(1.0);
    }

    /// A queued object was removed from the queue.
    pub fn unqueued(&self) {
        self.0.depth.add(-1.0);
    }

    /// An object is queued later: a retry with backoff, or the next interval.
    pub fn delayed(&self) {
        self.0.retries.increment();
    }

    /// An object was taken from the queue after this wait. Its reconciliation runs until the returned value is
    /// finished or dropped.
    #[must_use]
    pub fn started(&self, waited: Duration) -> Working {
        let cells = &self.0;
        cells.depth.add(-1.0);
        cells.queued.observe_time(waited);
        cells.active.add(1.0);
        let since = Instant::now();
        let mut running = cells.running.lock();
        let id = running.next;
        running.next += 1;
        running.since.insert(id, since);
        drop(running);
        Working {
            cells: Arc::clone(cells),
            id,
            since,
            finish: None,
        }
    }

    /// A reconciliation was cancelled by its timeout.
    pub fn timed_out(&self) {
        self.0.timeouts.increment();
    }

    /// Updates the gauges of running reconciliations, in seconds.
    pub(super) fn refresh(&self) {
        let now = Instant::now();
        let running = self.0.running.lock();
        let ages = running
            .since
            .values()
            .map(|since| now.saturating_duration_since(*since).as_secs_f64());
        let (total, longest) = ages.fold((0.0, 0.0), |(total, longest), age| {
            (total + age, f64::max(longest, age))
        });
        drop(running);
        self.0.unfinished.set(total);
        self.0.longest.set(longest);
    }
}

impl Cells {
    fn count(&self, finish: Finish) {
        match finish {
            Finish::Success => self.success.increment(),
            Finish::Requeue => self.requeue.increment(),
            Finish::RequeueAfter => self.requeue_after.increment(),
            Finish::Error | Finish::TerminalError => {
                self.error.increment();
                self.errors.increment();
            }
        }
        if finish == Finish::TerminalError {
            self.terminal_errors.increment();
        }
    }
}

/// A running reconciliation. Dropping it without [`Working::finish`] counts only its time, as on shutdown;
/// in a panic it counts that too, as an error.
#[derive(Debug)]
pub struct Working {
    cells: Arc<Cells>,
    id: u64,
    since: Instant,
    finish: Option<Finish>,
}

impl Working {
    pub fn finish(mut self, finish: Finish) {
        self.finish = Some(finish);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let took = self.since.elapsed();
        self.cells.running.lock().since.remove(&self.id);
        self.cells.active.add(-1.0);
        self.cells.time.observe_time(took);
        self.cells.work.observe_time(took);
        match self.finish {
            Some(finish) => self.cells.count(finish),
            None if thread::panicking() => {
                self.cells.panics.increment();
                self.cells.count(Finish::Error);
            }
            None => {}
        }
    }
}
