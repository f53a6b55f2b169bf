//! Conditions of OCIRepositories beyond those of all sources, and the message of their events.

use super::verify::Verification;
use crate::sources::artifacts;
use crate::sources::status::{self, FINGERPRINT, VERIFIED};
use bumpwright_api::{ConditionStatus, OciRepository, Reason};
use bumpwright_runtime::Status;
use serde_json::json;

/// Annotations by the makers of artifacts (image-spec v1.1, *Pre-Defined Annotation Keys*).
const SOURCE: &str = "org.opencontainers.image.source";

/// Records the result of the verification.
pub(super) fn verified(status: &mut Status, verification: Verification) {
    match verification {
        Verification::NotRequested => {
            status.conditions.remove(VERIFIED);
            status.fields.remove(FINGERPRINT);
        }
        Verification::Done | Verification::Ignored => {}
        Verification::Verified { message, fingerprint } => {
            status.fields.insert(FINGERPRINT.to_owned(), json!(fingerprint));
            status
                .conditions
                .set(VERIFIED, ConditionStatus::True, Reason::Succeeded, &message)
        }
    }
}

/// Records that the artifact of this revision is in storage.
pub(super) fn stored(status: &mut Status, revision: &str) {
    status::stored(status, &format!("stored artifact for digest '{revision}'"));
}

/// The message of the event about the artifact in a status.
pub(super) fn event_message(status: &Status, repository: &OciRepository) -> String {
    let artifact = artifacts::current(status).unwrap_or_default();
    let url = &repository.spec.url;
    let message = format!("stored artifact with revision '{}' from '{url}'", artifact.revision);
    let annotation = |key| artifact.metadata.get(key).filter(|value| !value.is_empty());
    match (annotation(SOURCE), annotation(artifacts::ORIGIN_REVISION)) {
        (Some(source), Some(revision)) => {
            format!("{message}, origin source '{source}', origin revision '{revision}'")
        }
        _ => message,
    }
}
