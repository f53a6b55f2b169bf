//! When to scan (image-reflector-controller v1.2, `shouldScan`).

use std::time::Duration;

use serde_json::Value;

use super::status::exclusions;
use bumpwright_api::{ConditionStatus, ImageRepository, READY};
use bumpwright_runtime::Status;
use bumpwright_runtime::clock::seconds_between;
use bumpwright_scan::{Scanned, TagStore, TagsError};

/// No scan of this repository is stored, or the stored one is lost.
pub(super) const NO_TAGS: &str = "no tags in database";

/// The stored scan was removed, since all of them took too much.
pub(super) const MADE_ROOM: &str = "its tags made room in the database for those of other namespaces (--tags-size)";

/// The stored scan is not the last one: another process has scanned since, with a database of its own.
const OLDER_TAGS: &str = "tags of another scan in database";

/// Whether a scan is due, and how long its result is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Why a scan is due; none while the last one is valid.
    pub(super) due: Option<&'static str>,
    /// Until the next scan.
    pub(super) next: Duration,
}

impl Schedule {
    /// The schedule of a repository with this canonical image name at the time `now` (RFC 3339).
    ///
    /// # Errors
    /// When the database of tags cannot be read.
    pub(super) fn of(
        repository: &ImageRepository,
        status: &Status,
        tags: &TagStore,
        (canonical, scanned): (&str, &Scanned),
        now: &str,
    ) -> Result<Self, TagsError> {
        let interval = repository.interval();
        let at_once = |why| {
            Ok(Self {
                due: Some(why),
                next: interval,
            })
        };
        let at = status.text_at("lastScanResult", "scanTime");
        if status.fields.get("lastScanResult").is_none_or(Value::is_null) {
            return at_once("first scan");
        }
        if status.is_requested() {
            return at_once("reconcile requested");
        }
        // A request counts as handled even if its scan failed, which is repeated only after the interval.
        if status.conditions.is(READY, ConditionStatus::False) {
            return at_once("last reconciliation failed");
        }
        if status.text("canonicalImageName") != canonical {
            return at_once("new image name");
        }
        if !same_content(&exclusions(repository), status.fields.get("observedExclusionList")) {
            return at_once("updated exclusion list");
        }
        let Some(stored) = tags.stored(scanned)? else {
            return at_once(if tags.made_room(scanned)? { MADE_ROOM } else { NO_TAGS });
        };
        if stored != status.text_at("lastScanResult", "revision") {
            return at_once(OLDER_TAGS);
        }
        let left = seconds_between(at, now).map(|ago| interval.saturating_sub(Duration::from_secs(ago)));
        match left {
            Some(left) if left >= Duration::from_secs(1) => Ok(Self { due: None, next: left }),
            _ => at_once("triggered by interval"),
        }
    }
}

/// The same entries in any order.
fn same_content(wanted: &[&str], observed: Option<&Value>) -> bool {
    let Some(observed) = observed.and_then(Value::as_array) else {
        return wanted.is_empty();
    };
    observed.len() == wanted.len() && wanted.iter().all(|entry| observed.iter().any(|seen| seen == entry))
}
