//! What clients are allowed.

use std::time::Duration;

/// What clients are allowed. source-controller's server has no limits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most connections at a time. More let the idle ones go; while all are being answered they wait to be accepted.
    pub connections: usize,
    /// How long a new connection may say nothing.
    pub first_time: Duration,
    /// From the first byte of a request to the last of its head.
    pub head_time: Duration,
    /// How long a connection is kept without a request.
    pub idle_time: Duration,
    /// How long a client may take none of the bytes that are there for it.
    pub stall_time: Duration,
    /// What a client has to take on average after the first [`Limits::stall_time`], in bytes per second.
    pub least_rate: u64,
    /// How long answers on their way are waited for when the server stops (source-controller: 5 s).
    pub end_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            first_time: Duration::from_secs(5),
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(60),
            stall_time: Duration::from_secs(30),
            least_rate: 16 << 10,
            end_time: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// How long an answer of this size may take.
    pub(super) fn time_for(&self, size: u64) -> Duration {
        self.stall_time + Duration::from_secs(size / self.least_rate.max(1))
    }
}
