//! The conditions and fields that a GitRepository has beside those of all sources.

use serde_json::json;

use super::verify::Verified;
use crate::controllers::sources::status::{self, INCLUDE_UNAVAILABLE, VERIFIED};
use bumpwright_api::Is;
use bumpwright_runtime::Status;

/// All included artifacts are there.
pub(super) fn included(status: &mut Status) {
    status.conditions.remove(INCLUDE_UNAVAILABLE);
}

/// The signatures are good; none were asked for without.
pub(super) fn verified(status: &mut Status, verified: Option<&Verified>) {
    match verified {
        Some(verified) => {
            let mode = json!(verified.mode);
            status.fields.insert("sourceVerificationMode".to_owned(), mode);
            status
                .conditions
                .set(VERIFIED, Is::True, "Succeeded", &verified.message);
        }
        None => {
            status.fields.remove("sourceVerificationMode");
            status.conditions.remove(VERIFIED);
        }
    }
}

/// The artifact of this revision is in storage.
pub(super) fn stored(status: &mut Status, revision: &str) {
    status::stored(status, &format!("stored artifact for revision '{revision}'"));
}
