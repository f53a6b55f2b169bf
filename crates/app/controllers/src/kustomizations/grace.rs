//! Artifacts that cannot be fetched for a moment: a controller of sources that begins again serves none until
//! it has fetched again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bumpwright_api::ObjectName;
use parking_lot::Mutex;

/// How often an artifact is tried within the grace.
const TRIES: u32 = 6;

/// Since when the artifacts of Kustomizations cannot be fetched.
#[derive(Debug, Default)]
pub(crate) struct Grace(Mutex<HashMap<ObjectName, Instant>>);

impl Grace {
    /// Its artifact was fetched, or it is gone.
    pub(crate) fn end(&self, name: &ObjectName) {
        self.0.lock().remove(name);
    }

    /// The time until the next attempt for a Kustomization that stays as it is; none once its artifact could not be
    /// fetched for longer than the grace.
    pub(crate) fn pause(&self, name: &ObjectName, grace: Duration, now: Instant) -> Option<Duration> {
        let mut since = self.0.lock();
        let first = since.entry(name.clone()).or_insert(now);
        (now.saturating_duration_since(*first) < grace).then_some(grace / TRIES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_begins_with_the_first_failure_and_ends() {
        let (grace, name, long) = (Grace::default(), ObjectName::new("fs", "apps"), Duration::from_secs(30));
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(grace.pause(&name, long, now), Some(Duration::from_secs(5)));
        assert!(grace.pause(&name, long, at(29)).is_some());
        assert!(grace.pause(&name, long, at(30)).is_none() && grace.pause(&name, long, at(31)).is_none());
        grace.end(&name);
        assert!(grace.pause(&name, long, at(31)).is_some());
        assert!(grace.pause(&ObjectName::new("fs", "b"), Duration::ZERO, now).is_none());
    }
}
