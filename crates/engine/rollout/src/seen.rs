//! What a look at the cluster shows.

use std::collections::BTreeMap;

use super::releases::ReleaseState;
use super::step::FAILURES;

/// The state of a Kustomization, Flux's or ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KustomizationState {
    /// The status of its Ready condition; none when it is unknown.
    pub ready: Option<bool>,
    pub reason: String,
    pub message: String,
    /// The commit of `status.lastAttemptedRevision`.
    pub attempted: String,
    /// The commit of `status.lastAppliedRevision`.
    pub applied: String,
    /// Whether the status is of the current spec.
    pub is_current: bool,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether the newest build in its history was applied and became healthy; without a history, whether what
    /// was attempted is applied.
    pub succeeded: bool,
    /// The HelmReleases that it has applied, by `namespace/name`, as far as they are read.
    pub releases: BTreeMap<String, ReleaseState>,
}

impl KustomizationState {
    /// Whether it did well with what is applied. During a reconciliation the one before counts, and so it does when no
    /// object has failed: an artifact that cannot be fetched for a moment, a dependency that is not ready.
    #[must_use]
    pub fn was_ready(&self) -> bool {
        match self.ready {
            Some(true) => true,
            Some(false) if FAILURES.contains(&self.reason.as_str()) => false,
            _ => self.succeeded && !self.applied.is_empty(),
        }
    }
}

/// What a look at the cluster and at Git shows.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The time, in seconds since 1970-01-01 UTC.
    pub now: i64,
    /// The tip of the reconciled branch; empty when it is not known.
    pub tip: String,
    /// The commit of the source's artifact; empty if absent.
    pub source: String,
    /// All Kustomizations that the automation sees, by `namespace/name`.
    pub kustomizations: BTreeMap<String, KustomizationState>,
}

/// Whether a commit has the images of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// All or some of the fields have the values that were pushed.
    Yes,
    No,
    /// Git does not say.
    Unknown,
}

/// What Git says of commits.
pub trait Revisions {
    /// Whether a commit has the images of the rollout.
    fn holds(&self, commit: &str) -> Holds;
}

impl<F: Fn(&str) -> Holds> Revisions for F {
    fn holds(&self, commit: &str) -> Holds {
        self(commit)
    }
}
