//! What the queue needs: names, metrics that count nothing, and a clock that stands.

use std::time::Duration;

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    pub namespace: String,
    pub name: String,
}

/// A moment: they are all the same, but for those in the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Self {
        Self(Duration::ZERO)
    }

    pub fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

impl std::ops::Add<Duration> for Instant {
    type Output = Self;

    fn add(self, by: Duration) -> Self {
        Self(self.0 + by)
    }
}

impl std::ops::Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by))
    }
}

/// The time never comes: who is not woken waits forever, which shuttle finds.
pub async fn timeout_at<T>(_: Instant, work: impl Future<Output = T>) -> Result<T, ()> {
    Ok(work.await)
}

#[derive(Debug)]
pub struct ControllerMetrics;

#[derive(Debug)]
pub struct Working;

impl ControllerMetrics {
    pub fn queued(&self) {}

    pub fn unqueued(&self) {}

    pub fn delayed(&self) {}

    pub fn started(&self, _: Duration) -> Working {
        Working
    }
}

#[derive(Clone, Debug, Default)]
pub struct ParkedRequests;

impl ParkedRequests {
    pub fn is_crowded(&self) -> bool {
        false
    }
}

#[derive(Debug)]
pub struct WorkerPermit;

impl WorkerPermit {
    pub fn cancel(&self) {}

    pub fn move_away(&self) {}
}
