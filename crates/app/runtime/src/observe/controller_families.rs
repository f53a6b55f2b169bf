//! The names, texts and labels of the metrics of controllers and their queues (controller-runtime 0.24,
//! `pkg/internal/controller/metrics/metrics.go` and `pkg/internal/metrics/workqueue.go`).

use super::exposition::Exposed;
use super::metric::{Counter, Family, Gauge, Histogram};

/// `controller_runtime_reconcile_time_seconds`, in seconds.
const RECONCILE_TIME: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
    1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];
/// `prometheus.ExponentialBuckets(10e-9, 10, 12)`, in seconds, with the rounding errors of its multiplications.
const QUEUE_TIME: &[f64] = &[
    1e-8,
    1e-7,
    1e-6,
    9.999999999999999e-6,
    9.999999999999999e-5,
    0.001,
    0.01,
    0.1,
    1.0,
    10.0,
    100.0,
    1000.0,
];

const CONTROLLER: &[&str] = &["controller"];
const QUEUE: &[&str] = &["controller", "name"];

/// `controller_runtime_*`.
#[derive(Debug)]
pub(super) struct ReconcileFamilies {
    pub total: Family<Counter>,
    pub errors: Family<Counter>,
    pub terminal_errors: Family<Counter>,
    pub panics: Family<Counter>,
    pub timeouts: Family<Counter>,
    pub time: Family<Histogram>,
    pub max_concurrent: Family<Gauge>,
    pub active_workers: Family<Gauge>,
}

impl ReconcileFamilies {
    pub fn new() -> Self {
        let counter = |name, help| Family::new(name, help, CONTROLLER, Counter::default);
        let gauge = |name, help| Family::new(name, help, CONTROLLER, Gauge::default);
        Self {
            total: Family::new(
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller",
                &["controller", "result"],
                Counter::default,
            ),
            errors: counter(
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller",
            ),
            terminal_errors: counter(
                "controller_runtime_terminal_reconcile_errors_total",
                "Total number of terminal reconciliation errors per controller",
            ),
            panics: counter(
                "controller_runtime_reconcile_panics_total",
                "Total number of reconciliation panics per controller",
            ),
            timeouts: counter(
                "controller_runtime_reconcile_timeouts_total",
                "Total number of reconciliation timeouts per controller",
            ),
            time: Family::new(
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller",
                CONTROLLER,
                || Histogram::new(RECONCILE_TIME),
            ),
            max_concurrent: gauge(
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
            ),
            active_workers: gauge(
                "controller_runtime_active_workers",
                "Number of currently used workers per controller",
            ),
        }
    }

    pub fn all(&self) -> [&dyn Exposed; 8] {
        [
            &self.total,
            &self.errors,
            &self.terminal_errors,
            &self.panics,
            &self.timeouts,
            &self.time,
            &self.max_concurrent,
            &self.active_workers,
        ]
    }
}

/// `workqueue_*`.
#[derive(Debug)]
pub(super) struct QueueFamilies {
    pub depth: Family<Gauge>,
    pub adds: Family<Counter>,
    pub retries: Family<Counter>,
    pub queue_duration: Family<Histogram>,
    pub work_duration: Family<Histogram>,
    pub unfinished: Family<Gauge>,
    pub longest_running: Family<Gauge>,
}

impl QueueFamilies {
    pub fn new() -> Self {
        let counter = |name, help| Family::new(name, help, QUEUE, Counter::default);
        let gauge = |name, help| Family::new(name, help, QUEUE, Gauge::default);
        let time = |name, help| Family::new(name, help, QUEUE, || Histogram::new(QUEUE_TIME));
        Self {
            depth: Family::new(
                "workqueue_depth",
                "Current depth of workqueue by workqueue and priority",
                &["controller", "name", "priority"],
                Gauge::default,
            ),
            adds: counter("workqueue_adds_total", "Total number of adds handled by workqueue"),
            retries: counter(
                "workqueue_retries_total",
                "Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit \
                 RequeueAfter or AddAfter calls)",
            ),
            queue_duration: time(
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested",
            ),
            work_duration: time(
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
            ),
            unfinished: gauge(
                "workqueue_unfinished_work_seconds",
                "How many seconds of work has been done that is in progress and hasn't been observed by \
                 work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by \
                 observing the rate at which this increases.",
            ),
            longest_running: gauge(
                "workqueue_longest_running_processor_seconds",
                "How many seconds has the longest running processor for workqueue been running.",
            ),
        }
    }

    pub fn all(&self) -> [&dyn Exposed; 7] {
        [
            &self.depth,
            &self.adds,
            &self.retries,
            &self.queue_duration,
            &self.work_duration,
            &self.unfinished,
            &self.longest_running,
        ]
    }
}
