//! Waiting for a set of objects: its end, and the error about those that are not ready.
//!
//! It is fed statuses one by one; the clock and the cluster are the caller's. Rules and texts: `WaitForSet` of
//! fluxcd/pkg/ssa.

use super::status::Status;
use bumpwright_api::ObjectId;
use bumpwright_text::between;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An observation of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Its status; [`Status::Unknown`] when that could not be read.
    pub status: Status,
    /// Why it could not be read.
    pub error: Option<String>,
}

impl Observed {
    #[must_use]
    pub const fn status(status: Status) -> Self {
        Self { status, error: None }
    }

    /// A failed observation, such as `no matches for kind "HelmRelease" in group "helm.toolkit.fluxcd.io"`.
    pub fn unknown(error: impl Into<String>) -> Self {
        Self {
            status: Status::Unknown,
            error: Some(error.into()),
        }
    }
}

/// The progress of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Some objects are still in progress.
    Waiting,
    /// All objects are ready.
    Done,
    /// Objects have failed, and the wait ends.
    Failed(Unready),
}

/// A wait that ended before all objects were ready, with Flux's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: [{}]", .why, .objects.join(", "))]
pub struct Unready {
    pub why: Why,
    /// `Kind/namespace/name status: 'InProgress'` for each object.
    pub objects: Vec<String>,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Timeout,
    Stalled,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "timeout waiting for",
            Self::Stalled => "failed early due to stalled resources",
        })
    }
}

/// A wait for a set of objects.
#[derive(Debug, Clone)]
pub struct Wait {
    /// The objects in the order of messages.
    order: Vec<ObjectId>,
    /// The last observation of each object.
    seen: BTreeMap<ObjectId, Option<Observed>>,
    /// The number of objects by status; Jobs with a TTL count as ready when they are gone.
    counts: BTreeMap<Status, usize>,
    fail_fast: bool,
    jobs_with_ttl: BTreeSet<ObjectId>,
}

impl Wait {
    /// A wait for `objects`; errors name them in this order. With `fail_fast` the first failure ends it
    /// (`DisableFailFastBehavior` turns that off). `jobs_with_ttl` are Jobs with `spec.ttlSecondsAfterFinished`: they
    /// have ended when they are gone.
    pub fn new(
        objects: impl IntoIterator<Item = ObjectId>,
        fail_fast: bool,
        jobs_with_ttl: impl IntoIterator<Item = ObjectId>,
    ) -> Self {
        let mut wait = Self {
            order: Vec::new(),
            seen: BTreeMap::new(),
            counts: BTreeMap::new(),
            fail_fast,
            jobs_with_ttl: jobs_with_ttl.into_iter().collect(),
        };
        for id in objects {
            if wait.seen.insert(id.clone(), None).is_none() {
                wait.order.push(id);
                *wait.counts.entry(Status::Unknown).or_default() += 1;
            }
        }
        wait
    }

    /// The objects, each once.
    #[must_use]
    pub fn objects(&self) -> &[ObjectId] {
        &self.order
    }

    /// The last observation of an object.
    #[must_use]
    pub fn last(&self, id: &ObjectId) -> Option<&Observed> {
        self.seen.get(id)?.as_ref()
    }

    /// Records an observation; other objects are ignored.
    pub fn observe(&mut self, id: &ObjectId, observed: Observed) -> Progress {
        let new = self.effective(id, observed.status);
        if let Some(seen) = self.seen.get_mut(id) {
            let old = seen.replace(observed).map_or(Status::Unknown, |old| old.status);
            let old = self.effective(id, old);
            if let Some(count) = self.counts.get_mut(&old) {
                *count = count.saturating_sub(1);
            }
            *self.counts.entry(new).or_default() += 1;
        }
        self.progress()
    }

    /// The progress of the wait.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let count = |status| self.counts.get(&status).copied().unwrap_or_default();
        let (current, failed) = (count(Status::Current), count(Status::Failed));
        let ended = current + failed == self.order.len();
        match failed {
            0 if ended => Progress::Done,
            1.. if ended || self.fail_fast => Progress::Failed(Unready {
                why: Why::Stalled,
                objects: self.named(|status| status == Status::Failed),
            }),
            _ => Progress::Waiting,
        }
    }

    /// Ends the wait because of a timeout: it fails unless all objects are ready.
    ///
    /// # Errors
    /// The objects that are not ready, with their statuses.
    pub fn time_out(&self) -> Result<(), Unready> {
        let objects = self.named(|status| status != Status::Current);
        if objects.is_empty() {
            Ok(())
        } else {
            Err(Unready {
                why: Why::Timeout,
                objects,
            })
        }
    }

    fn effective(&self, id: &ObjectId, status: Status) -> Status {
        match status {
            Status::NotFound if self.jobs_with_ttl.contains(id) => Status::Current,
            status => status,
        }
    }

    fn named(&self, counts: impl Fn(Status) -> bool) -> Vec<String> {
        let looked = self.seen.values().any(Option::is_some);
        let name = |id: &ObjectId| match self.last(id) {
            Some(observed) if !counts(self.effective(id, observed.status)) => None,
            Some(Observed { status, error }) => {
                let error = between(": ", error.as_ref(), "");
                Some(format!("{id} status: '{status}'{error}"))
            }
            // Objects that were not observed are unknown as soon as any was.
            None if looked => counts(Status::Unknown).then(|| format!("{id} status: '{}'", Status::Unknown)),
            None if self.jobs_with_ttl.contains(id) => None,
            None => Some(format!("can't determine status for {id}")),
        };
        self.order.iter().filter_map(name).collect()
    }
}
