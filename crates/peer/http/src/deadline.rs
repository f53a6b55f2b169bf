//! The deadline of a conversation.

use std::time::{Duration, Instant};

use super::Job;

/// An instant together with its time limit, for errors.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    /// Starts a deadline. A limit beyond the clock's range counts as one year. It is sooner when the thread's job has
    /// an earlier one ([`Job::within`]).
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

    /// The earlier of this deadline and one that starts now.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        let own = Self::after(limit);
        if own.at < self.at { own } else { self }
    }

    /// The remaining time; zero when it has passed, or the thread's job was cancelled.
    #[must_use]
    pub fn left(&self) -> Duration {
        if Job::current_is_cancelled() {
            return Duration::ZERO;
        }
        self.at.saturating_duration_since(Instant::now())
    }

    /// Whether hardly any of it is used.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.limit.saturating_sub(self.left()) < Duration::from_millis(20)
    }

    /// Whether it has passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.left().is_zero()
    }

    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }
}
