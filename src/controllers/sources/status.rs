//! How a reconciliation of a source shows in its status (source-controller v1.9, `internal/reconcile/summarize`): Ready sums up the
//! other conditions, in place of being set.

use bumpwright_api::{Is, READY, RECONCILING, STALLED};
use bumpwright_runtime::{EventType, NewEvent, Outcome, Status};

pub(crate) const STORAGE_FAILED: &str = "StorageOperationFailed";
pub(crate) const FETCH_FAILED: &str = "FetchFailed";
pub(crate) const INCLUDE_UNAVAILABLE: &str = "IncludeUnavailable";
pub(crate) const OUTDATED: &str = "ArtifactOutdated";
pub(crate) const IN_STORAGE: &str = "ArtifactInStorage";
pub(crate) const VERIFIED: &str = "SourceVerified";

/// What Ready sums up, the weightier first. A kind of sources that never sets one of them is none the wiser.
const SUMMARISED: [&str; 8] = [
    STORAGE_FAILED,
    FETCH_FAILED,
    INCLUDE_UNAVAILABLE,
    OUTDATED,
    IN_STORAGE,
    VERIFIED,
    STALLED,
    RECONCILING,
];

/// Those that are bad news when they hold.
const BAD: [&str; 6] = [
    STORAGE_FAILED,
    FETCH_FAILED,
    INCLUDE_UNAVAILABLE,
    OUTDATED,
    STALLED,
    RECONCILING,
];

/// Those that say that something failed.
pub(crate) const FAILURES: [&str; 3] = [FETCH_FAILED, INCLUDE_UNAVAILABLE, STORAGE_FAILED];

/// Ends a reconciliation (`ComputeReconcileResult`, then `SummarizeAndPatch`). Gives the event of a failure; what a success is worth
/// its kind has told already.
pub(crate) fn conclude(status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
    status.mark_handled();
    if !matches!(outcome, Outcome::Ready { .. }) {
        go_on(status);
    }
    match outcome {
        Outcome::Ready { .. } => {
            status.conditions.remove(RECONCILING);
            status.conditions.remove(STALLED);
            status.mark_observed();
        }
        Outcome::Stalled { reason, message } => {
            status.conditions.stalled(reason, message);
            status.mark_observed();
        }
        Outcome::Backoff { .. } | Outcome::RequeueAfter { .. } => status.conditions.remove(STALLED),
    }
    sum_up(status);
    let new_event = |event_type, reason: &str, message: &str| {
        Some(NewEvent {
            event_type,
            reason: reason.to_owned(),
            message: message.to_owned(),
        })
    };
    match outcome {
        Outcome::Ready { .. } => None,
        Outcome::Stalled { reason, message } | Outcome::Backoff { reason, message } => {
            new_event(EventType::Warning, reason, message)
        }
        Outcome::RequeueAfter { reason, message, .. } => new_event(EventType::Trace, reason, message),
    }
}

/// A suspended source was looked at; its spec has been seen.
pub(crate) fn suspend(status: &mut Status) {
    status.mark_handled();
    go_on(status);
    if !status.conditions.is_empty() {
        status.mark_observed();
    }
    status.conditions.remove(STALLED);
    sum_up(status);
}

/// What was being done will be tried again.
fn go_on(status: &mut Status) {
    if status.conditions.get(RECONCILING).is_some() {
        let doing = status.conditions.message(RECONCILING).to_owned();
        status
            .conditions
            .set(RECONCILING, Is::True, "ProgressingWithRetry", &doing);
    }
}

fn sum_up(status: &mut Status) {
    let conditions = &mut status.conditions;
    conditions.summarise(&SUMMARISED, &BAD);
    if conditions.is(VERIFIED, Is::False)
        && let Some(verified) = conditions.get(VERIFIED)
    {
        let (reason, message) = (verified.reason.clone(), verified.message.clone());
        conditions.set(READY, Is::False, &reason, &message);
    }
}

/// What is done now, and that nobody knows whether the object is ready (`ProgressiveStatus` with drift).
pub(crate) fn rebuilding(status: &mut Status, message: &str) {
    status.conditions.reconciling("Progressing", message);
    status.unsettle(message);
}
