//! The status of an ImageRepository (image-reflector-controller v1.2; N-048 to N-064).

use std::time::Duration;

use serde_json::{Value, json};

use super::schedule::NO_TAGS;
use bumpwright_api::ImageRepository;
use bumpwright_runtime::{Outcome, ReconcileRequest, Status};

/// The number of tags that the status shows.
const SHOWN_TAGS: usize = 10;

/// A scan begins.
pub(super) async fn scanning(request: &ReconcileRequest<'_>, status: &mut Status, why: &str) {
    status.progress(&format!("scanning: {why}"));
    if why == NO_TAGS {
        // Policies wait for a change of state to look at the tags again.
        status.unsettle(&format!("scanning: {why}"));
        request.try_write_status(status).await;
    }
}

/// Notes the tags that a scan at the time `now` found. True when they differ from those before.
pub(super) fn scanned(status: &mut Status, tags: &[String], revision: &str, now: &str) -> bool {
    let changed = status.text_at("lastScanResult", "revision") != revision;
    let mut result = json!({ "revision": revision, "scanTime": now, "tagCount": tags.len() });
    if let (false, Some(fields)) = (tags.is_empty(), result.as_object_mut()) {
        let latest: Vec<&String> = tags.iter().take(SHOWN_TAGS).collect();
        fields.insert("latestTags".to_owned(), json!(latest));
    }
    status.fields.insert("lastScanResult".to_owned(), result);
    changed
}

/// The tags in the status are good, until the next scan in `after`.
pub(super) fn ready(
    status: &mut Status,
    repository: &ImageRepository,
    canonical: &str,
    trace: String,
    after: Duration,
) -> Outcome {
    let count = status
        .fields
        .get("lastScanResult")
        .and_then(|result| result.get("tagCount"))
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let message = format!(
        "successful scan: found {count} tags with checksum {}",
        status.text_at("lastScanResult", "revision")
    );
    let fields = &mut status.fields;
    fields.insert("canonicalImageName".to_owned(), json!(canonical));
    fields.insert("observedExclusionList".to_owned(), json!(exclusions(repository)));
    Outcome::Ready {
        news: (status.message_before() != message).then(|| message.clone()),
        message,
        trace,
        after: Some(after),
    }
}

/// The patterns of tags that are left out.
pub(super) fn exclusions(repository: &ImageRepository) -> Vec<&str> {
    repository.exclusions().collect()
}
