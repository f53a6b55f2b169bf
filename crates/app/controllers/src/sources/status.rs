//! The status of a source (source-controller v1.9, `internal/reconcile/summarize`): Ready summarises the other
//! conditions instead of being set.

use serde_json::json;

use super::error::SourceError;
use bumpwright_api::{Artifact, ConditionStatus, RECONCILING, Reason, STALLED};
use bumpwright_runtime::{EventType, NewEvent, Outcome, Status};

pub(crate) const STORAGE_FAILED: &str = "StorageOperationFailed";
pub(crate) const FETCH_FAILED: &str = "FetchFailed";
pub(crate) const BUILD_FAILED: &str = "BuildFailed";
pub(crate) const INCLUDE_UNAVAILABLE: &str = "IncludeUnavailable";
pub(crate) const OUTDATED: &str = "ArtifactOutdated";
pub(crate) const IN_STORAGE: &str = "ArtifactInStorage";
pub(crate) const VERIFIED: &str = "SourceVerified";

/// The conditions that Ready summarises, in order of precedence. Not every kind has all of them.
const SUMMARISED: [&str; 9] = [
    STORAGE_FAILED,
    FETCH_FAILED,
    BUILD_FAILED,
    INCLUDE_UNAVAILABLE,
    OUTDATED,
    IN_STORAGE,
    VERIFIED,
    STALLED,
    RECONCILING,
];

/// Those that are negative when true.
const BAD: [&str; 7] = [
    STORAGE_FAILED,
    FETCH_FAILED,
    BUILD_FAILED,
    INCLUDE_UNAVAILABLE,
    OUTDATED,
    STALLED,
    RECONCILING,
];

/// Those that report failures.
const FAILURES: [&str; 4] = [FETCH_FAILED, BUILD_FAILED, INCLUDE_UNAVAILABLE, STORAGE_FAILED];

/// Returns whether a condition reports a failure.
pub(crate) fn has_failed(status: &Status) -> bool {
    FAILURES.iter().any(|kind| status.conditions.get(kind).is_some())
}

pub(crate) fn begin(status: &mut Status) {
    status.conditions.remove(STORAGE_FAILED);
}

/// The field of the status with the fingerprint of what was trusted.
pub(crate) const FINGERPRINT: &str = "sourceVerificationFingerprint";

/// The fingerprint in a status.
pub(crate) fn fingerprint(status: &Status) -> Option<String> {
    let fingerprint = status.fields.get(FINGERPRINT)?.as_str()?;
    Some(fingerprint.to_owned())
}

/// Removes the result of a failed verification, which is repeated.
pub(crate) fn begin_verification(status: &mut Status) {
    if status.conditions.is(VERIFIED, ConditionStatus::False) {
        status.conditions.remove(VERIFIED);
    }
}

pub(crate) fn set_artifact(status: &mut Status, artifact: &Artifact) {
    status.fields.insert("artifact".to_owned(), json!(artifact));
}

/// Removes an artifact that is missing from storage.
pub(crate) fn lose_artifact(status: &mut Status) {
    status.fields.remove("artifact");
    set_building(status, "building artifact: disappeared from storage");
    status.conditions.remove(IN_STORAGE);
}

/// Records that the first artifact is being built.
pub(crate) fn build_first_artifact(status: &mut Status) {
    set_building(status, "building artifact");
    status.conditions.remove(IN_STORAGE);
}

/// Marks the artifact as outdated.
pub(crate) fn set_outdated(status: &mut Status, reason: Reason, message: &str) {
    status.conditions.set(OUTDATED, ConditionStatus::True, reason, message);
}

/// Removes the mark of an outdated artifact, which lasts until the status was written.
pub(crate) fn clear_outdated(status: &mut Status) {
    status.conditions.remove(OUTDATED);
}

/// Sets the message of the current step; Ready is unknown meanwhile (`ProgressiveStatus` with drift).
pub(crate) fn set_building(status: &mut Status, message: &str) {
    status.conditions.reconciling(Reason::Progressing, message);
    status.unsettle(message);
}

/// Records a successful fetch.
pub(crate) fn fetched(status: &mut Status) {
    status.conditions.remove(FETCH_FAILED);
}

/// Records that the newest artifact is in storage.
pub(crate) fn stored(status: &mut Status, message: &str) {
    stored_because(status, Reason::Succeeded, message);
}

/// The same with a reason of its own.
pub(crate) fn stored_because(status: &mut Status, reason: Reason, message: &str) {
    clear_outdated(status);
    status
        .conditions
        .set(IN_STORAGE, ConditionStatus::True, reason, message);
}

/// Sets the condition of an error.
pub(crate) fn show(status: &mut Status, error: &impl SourceError) {
    let failure = error.failure();
    if let Some((condition, is)) = failure.condition {
        status.conditions.set(condition, is, failure.reason, &error.to_string());
    }
}

/// Sets the condition of an error that ends the reconciliation, and returns the outcome.
pub(crate) fn failed(status: &mut Status, error: &impl SourceError) -> Outcome {
    show(status, error);
    error.failure().outcome(error.to_string())
}

/// Ends a reconciliation (`ComputeReconcileResult`, then `SummarizeAndPatch`). Returns the event of a failure; a
/// success has recorded its own already.
pub(crate) fn conclude(status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
    status.mark_handled();
    if !matches!(outcome, Outcome::Ready { .. }) {
        mark_retrying(status);
    }
    match outcome {
        Outcome::Ready { .. } => {
            status.conditions.remove(RECONCILING);
            status.conditions.remove(STALLED);
            status.mark_observed();
        }
        Outcome::Stalled { reason, message } => {
            status.conditions.stalled(*reason, message);
            status.mark_observed();
        }
        Outcome::Backoff { .. } | Outcome::RequeueAfter { .. } => status.conditions.remove(STALLED),
    }
    summarise(status);
    let new_event = |event_type, reason: &Reason, message: &str| {
        Some(NewEvent {
            event_type,
            reason: *reason,
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

/// Marks a suspended source as observed.
pub(crate) fn suspend(status: &mut Status) {
    status.mark_handled();
    mark_retrying(status);
    if !status.conditions.is_empty() {
        status.mark_observed();
    }
    status.conditions.remove(STALLED);
    summarise(status);
}

/// Marks the current step as retrying.
fn mark_retrying(status: &mut Status) {
    if status.conditions.get(RECONCILING).is_some() {
        let doing = status.conditions.message(RECONCILING).to_owned();
        status
            .conditions
            .set(RECONCILING, ConditionStatus::True, Reason::ProgressingWithRetry, &doing);
    }
}

fn summarise(status: &mut Status) {
    status.conditions.summarise(&SUMMARISED, &BAD);
    status.conditions.fail_with(VERIFIED);
}
