//! Conditions and fields of HelmCharts beyond those of all sources.

use serde_json::json;

use super::Error;
use super::made::Made;
use crate::sources::artifacts;
use crate::sources::status::{self as conditions, BUILD_FAILED, FETCH_FAILED, VERIFIED};
use crate::sources::triggers::OBSERVED;
use bumpwright_api::{ConditionStatus, Reason};
use bumpwright_chart::BuildError;
use bumpwright_runtime::Status;

/// Records the revision that the chart is made of.
pub(super) fn observe(status: &mut Status, revision: &str) {
    status.fields.insert(OBSERVED.to_owned(), json!(revision));
}

/// Records that nothing is verified.
pub(super) fn unverified(status: &mut Status) {
    status.conditions.remove(VERIFIED);
}

/// A chart was fetched and changed as it should be.
pub(super) fn built(status: &mut Status, made: &Made) {
    conditions::fetched(status);
    status.conditions.remove(BUILD_FAILED);
    if made.is_verified {
        let message = format!("verified signature of version {}", made.which.version);
        status
            .conditions
            .set(VERIFIED, ConditionStatus::True, Reason::Succeeded, &message);
    }
}

/// Of a failed fetch and a failed build, one is shown.
pub(super) fn failed(status: &mut Status, error: &Error) {
    let Error::Build(build) = error else {
        status.conditions.remove(BUILD_FAILED);
        return;
    };
    match build {
        BuildError::Reference(_) | BuildError::Pull(_) => status.conditions.remove(BUILD_FAILED),
        BuildError::Verification(_) => {
            status.conditions.remove(FETCH_FAILED);
            let message = build.to_string();
            status
                .conditions
                .set(VERIFIED, ConditionStatus::False, Reason::VerificationError, &message);
        }
        _ => status.conditions.remove(FETCH_FAILED),
    }
}

/// Another chart than the artifact has is made.
pub(super) fn outdated(status: &mut Status, summary: &str) {
    if artifacts::current(status).is_some() {
        conditions::set_outdated(status, Reason::NewChart, summary);
    }
}
