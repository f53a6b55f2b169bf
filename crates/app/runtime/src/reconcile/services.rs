//! Services shared by the drivers of all kinds.

use std::sync::Arc;
use std::time::Duration;

use super::dealt::Dealt;
use crate::event::recorder::Recorder;
use crate::logging::log::Log;
use crate::observe::metrics::Metrics;
use crate::work::permits::ParkedRequests;
use bumpwright_budget::Memory;
use bumpwright_http::pause_between;
use bumpwright_kube::Cluster;

/// Shared by the drivers of one process.
#[derive(Debug)]
pub struct Services {
    pub cluster: Cluster,
    /// The recorder of events.
    pub recorder: Recorder,
    pub metrics: Metrics,
    pub log: Log,
    /// The limit of parked reconciliations.
    pub parked: ParkedRequests,
    /// The memory of fetches, which what servers send is taken from, too.
    pub fetch_memory: Memory,
    /// How many objects of a kind are reconciled at once.
    pub workers: usize,
    /// Which objects are this process' own, where several share them; all without.
    pub dealt: Option<Arc<dyn Dealt>>,
    /// The jitter of intervals, in percent; 99 at most.
    pub jitter: u8,
}

impl Services {
    /// An interval with jitter, so that objects created at once spread out.
    #[must_use]
    pub fn jittered(&self, interval: Duration) -> Duration {
        let percent = f64::from(self.jitter.min(99)) / 100.0;
        pause_between(interval.mul_f64(1.0 - percent), interval.mul_f64(1.0 + percent))
    }
}
