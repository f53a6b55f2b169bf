//! The moment at which one conversation has to be over.

use std::time::{Duration, Instant};

use super::Job;

/// An instant together with the limit that it came from, which errors name.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    /// Starts the clock. A limit that no clock can hold counts as one year. It is sooner when the thread's job has to be over
    /// ([`Job::within`]).
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        let now = Instant::now();
        let own = Self {
            at: now.checked_add(limit).unwrap_or(now + YEAR),
            limit,
        };
        match Job::end() {
            Some(end) if end.at < own.at => end,
            _ => own,
        }
    }

    /// The sooner of this one and one that starts now.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        let own = Self::after(limit);
        if own.at < self.at { own } else { self }
    }

    /// What is left; zero when it has passed, or the thread's job was called off.
    #[must_use]
    pub fn left(&self) -> Duration {
        if Job::current_is_cancelled() {
            return Duration::ZERO;
        }
        self.at.saturating_duration_since(Instant::now())
    }

    /// True as long as hardly any of it is used up.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.limit.saturating_sub(self.left()) < Duration::from_millis(20)
    }

    /// True from the instant on.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.left().is_zero()
    }

    /// The limit that it came from.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }
}
