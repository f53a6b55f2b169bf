//! What clients are allowed.

use std::time::Duration;

/// What clients are allowed. Go's servers in Flux's controllers have hardly any limits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections at a time. When more arrive, idle ones are closed; while all are busy, new ones
    /// wait to be accepted.
    pub connections: usize,
    /// How long a new connection may send nothing.
    pub first_time: Duration,
    /// How long a connection is kept without a request.
    pub idle_time: Duration,
    /// From the first byte of a request to the last of its head.
    pub head_time: Duration,
    /// The largest head of a request, in bytes; at least 8 KiB.
    pub head_size: usize,
    /// From the end of the head to the last byte of the body.
    pub body_time: Duration,
    /// The largest body of a request, in bytes. With 0 bodies are not read: the connection is
    /// closed after the response.
    pub body_size: usize,
    /// How long a client may take none of the bytes that are ready for it.
    pub stall_time: Duration,
    /// What a client has to take on average after the first [`Limits::stall_time`], in bytes per second.
    pub least_rate: u64,
    /// Whether clients may close their side after the request. If not, one that does is gone, and a stream to
    /// it ends at once.
    pub half_close: bool,
    /// How long responses on their way are waited for when the server stops.
    pub end_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            first_time: Duration::from_secs(5),
            idle_time: Duration::from_secs(30),
            head_time: Duration::from_secs(10),
            head_size: 16 << 10,
            body_time: Duration::from_secs(10),
            body_size: 0,
            stall_time: Duration::from_secs(10),
            least_rate: 16 << 10,
            half_close: true,
            end_time: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// How long writing a response of this size may take.
    pub(super) fn time_for(&self, size: u64) -> Duration {
        self.stall_time + Duration::from_secs(size / self.least_rate.max(1))
    }
}
