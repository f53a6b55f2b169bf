//! The moment at which one conversation has to be over.

use std::time::{Duration, Instant};

use super::TransportError;

/// An instant together with the limit that it came from, which errors name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    /// Starts the clock. A limit that no clock can hold counts as one year.
    pub(crate) fn after(limit: Duration) -> Self {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        let now = Instant::now();
        Self {
            at: now.checked_add(limit).unwrap_or(now + YEAR),
            limit,
        }
    }

    /// What is left; zero when it has passed.
    pub(crate) fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// True as long as hardly any of it is used up.
    pub(crate) fn is_fresh(&self) -> bool {
        self.limit.saturating_sub(self.left()) < Duration::from_millis(20)
    }

    /// True from the instant on.
    pub(crate) fn passed(&self) -> bool {
        self.left().is_zero()
    }

    /// The error that says so.
    pub(crate) fn error(&self, url: &str) -> TransportError {
        TransportError::Timeout {
            url: url.to_owned(),
            limit: self.limit,
        }
    }
}
