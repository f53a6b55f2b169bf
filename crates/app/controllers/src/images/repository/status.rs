//! The status of an ImageRepository (image-reflector-controller v1.2; N-048 to N-064).

use serde_json::{Value, json};

use super::schedule::{MADE_ROOM, NO_TAGS};
use super::{Plan, Scan};
use bumpwright_api::ImageRepository;
use bumpwright_runtime::clock::duration;
use bumpwright_runtime::{Outcome, ReconcileRequest, Status};

/// The number of tags that the status shows.
const SHOWN_TAGS: usize = 10;

/// Marks the beginning of a scan.
pub(super) async fn scanning(request: &ReconcileRequest<'_>, status: &mut Status, why: &str) {
    status.progress(&format!("scanning: {why}"));
    if [NO_TAGS, MADE_ROOM].contains(&why) {
        // Policies wait for a change of state before they read the tags again.
        status.unsettle(&format!("scanning: {why}"));
        request.try_write_status(status).await;
    }
}

/// Records the result of a scan at the time `now`. Returns whether it differs from the previous one.
fn scanned(status: &mut Status, Scan { tags, revision }: &Scan, now: &str) -> bool {
    let tags = &tags.tags;
    let changed = status.text_at("lastScanResult", "revision") != revision;
    let mut result = json!({ "revision": revision, "scanTime": now, "tagCount": tags.len() });
    if let (false, Some(fields)) = (tags.is_empty(), result.as_object_mut()) {
        let latest: Vec<&String> = tags.iter().take(SHOWN_TAGS).collect();
        fields.insert("latestTags".to_owned(), json!(latest));
    }
    status.fields.insert("lastScanResult".to_owned(), result);
    changed
}

/// Records the result of a scan at the time `now`, if there was one. The tags in the status are valid
/// until the next scan.
pub(super) fn ready(status: &mut Status, plan: &Plan, scan: Option<&Scan>, now: &str) -> Outcome {
    let next = duration(plan.schedule.next);
    let trace = match scan.map(|scan| scanned(status, scan, now)) {
        None => format!("no change in repository configuration since last scan, next scan in {next}"),
        Some(true) => format!("successful scan, next scan in {next}"),
        Some(false) => format!("tags did not change, next scan in {next}"),
    };
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
    fields.insert("canonicalImageName".to_owned(), json!(plan.canonical));
    fields.insert("observedExclusionList".to_owned(), json!(exclusions(&plan.repository)));
    Outcome::Ready {
        news: (status.message_before() != message).then(|| message.clone()),
        message,
        trace,
        after: Some(plan.schedule.next),
    }
}

pub(super) fn exclusions(repository: &ImageRepository) -> Vec<&str> {
    repository.exclusions().collect()
}
