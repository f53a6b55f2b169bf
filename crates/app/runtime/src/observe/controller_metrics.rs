//! The metrics of one controller and its queue, as controller-runtime counts them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::metric::{Counter, Gauge, Histogram};
use super::metrics::Families;

/// How a reconciliation ended (controller-runtime, `internal/controller`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Done, nothing is planned.
    Success,
    /// Done, and to be done again at once.
    Requeue,
    /// Done, and to be done again after some time.
    RequeueAfter,
    /// Failed, and to be tried again with back-off.
    Error,
    /// Failed, and trying again would bring nothing.
    TerminalError,
}

/// What controller-runtime counts of one controller. A clone is cheap and counts into the same cells; nothing here
/// allocates but [`ControllerMetrics::started`], which remembers a moment.
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

/// When the work that goes on began.
#[derive(Debug, Default)]
struct Running {
    next: u64,
    since: BTreeMap<u64, Instant>,
}

impl ControllerMetrics {
    /// The cells of a controller, all of them at zero, so that they show before something happens.
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
            // controller-runtime's queues have priorities; ours all have the usual one.
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

    /// Something was put into the queue; what is in it already is not put into it again.
    pub fn queued(&self) {
        self.0.adds.increment();
        self.0.depth.add(1.0);
    }

    /// Something that was put into the queue is not needed any more.
    pub fn unqueued(&self) {
        self.0.depth.add(-1.0);
    }

    /// Something is to come into the queue after a while: a retry with back-off, or the next interval.
    pub fn delayed(&self) {
        self.0.retries.increment();
    }

    /// Something was taken out of the queue, where it had waited so long, and is being worked on until the answer is
    /// finished or dropped.
    #[must_use]
    pub fn started(&self, waited: Duration) -> Working {
        let cells = &self.0;
        cells.depth.add(-1.0);
        cells.queued.observe_time(waited);
        cells.active.add(1.0);
        let since = Instant::now();
        let mut running = cells.running();
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

    /// Something left the queue without being worked on, as when its object is gone.
    pub fn withdrawn(&self) {
        self.0.depth.add(-1.0);
    }

    /// A reconciliation was stopped because it took too long.
    pub fn timed_out(&self) {
        self.0.timeouts.increment();
    }

    /// Brings the gauges of work that goes on up to date, in seconds.
    pub(super) fn refresh(&self) {
        let now = Instant::now();
        let running = self.0.running();
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
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

/// One reconciliation that goes on. Dropping it without [`Working::finish`] counts its time alone, as when the process
/// is told to stop; in a panic it counts that too, as an error.
#[derive(Debug)]
pub struct Working {
    cells: Arc<Cells>,
    id: u64,
    since: Instant,
    finish: Option<Finish>,
}

impl Working {
    /// Says how it ended, and counts it.
    pub fn finish(mut self, finish: Finish) {
        self.finish = Some(finish);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let took = self.since.elapsed();
        self.cells.running().since.remove(&self.id);
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
