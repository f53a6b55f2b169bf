//! What the driver of every kind shares.

use std::time::Duration;

use crate::observe::{Log, Metrics, Recorder};
use crate::work::permits::ParkedRequests;
use bumpwright_http::pause_between;
use bumpwright_kube::Cluster;

/// Shared by the drivers of one process.
#[derive(Debug)]
pub struct Services {
    /// Where the objects are.
    pub cluster: Cluster,
    /// Takes events.
    pub recorder: Recorder,
    /// Counts and times.
    pub metrics: Metrics,
    /// Says what is done.
    pub log: Log,
    /// Where reconciliations wait that a slow peer keeps waiting.
    pub parked: ParkedRequests,
    /// How many objects of a kind are reconciled at once.
    pub workers: usize,
    /// How far intervals vary, in percent; 99 at most.
    pub jitter: u8,
}

impl Services {
    /// An interval that is a little longer or shorter each time, so that objects made at once do not stay in step.
    #[must_use]
    pub fn jittered(&self, interval: Duration) -> Duration {
        let percent = f64::from(self.jitter.min(99)) / 100.0;
        pause_between(interval.mul_f64(1.0 - percent), interval.mul_f64(1.0 + percent))
    }
}
