//! Conditions and fields of GitRepositories beyond those of all sources.

use serde_json::json;

use super::verify::Verified;
use crate::sources::status::{self, FINGERPRINT, INCLUDE_UNAVAILABLE, VERIFIED};
use bumpwright_api::{ConditionStatus, Reason};
use bumpwright_runtime::Status;

/// Records that all included artifacts exist.
pub(super) fn included(status: &mut Status) {
    status.conditions.remove(INCLUDE_UNAVAILABLE);
}

/// Records verified signatures; without a verification the condition is removed.
pub(super) fn verified(status: &mut Status, verified: Option<&Verified>) {
    match verified {
        Some(verified) => {
            let mode = json!(verified.mode);
            status.fields.insert("sourceVerificationMode".to_owned(), mode);
            let fingerprint = json!(verified.fingerprint);
            status.fields.insert(FINGERPRINT.to_owned(), fingerprint);
            status
                .conditions
                .set(VERIFIED, ConditionStatus::True, Reason::Succeeded, &verified.message);
        }
        None => {
            status.fields.remove("sourceVerificationMode");
            status.fields.remove(FINGERPRINT);
            status.conditions.remove(VERIFIED);
        }
    }
}

/// Records that the artifact of this revision is in storage.
pub(super) fn stored(status: &mut Status, revision: &str) {
    status::stored(status, &format!("stored artifact for revision '{revision}'"));
}
