//! `ImageRepository`: scans when it is time to (image-reflector-controller v1.2, *ImageRepository*; N-048 to N-064).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::controllers::context::Context;
use crate::controllers::gather;
use crate::controllers::older_keys;
use crate::controllers::tokens;
use bumpwright_api::{ImageRepository, Is, Objects, READY};
use bumpwright_kube::{IMAGE_REPOSITORY, Kind, Object};
use bumpwright_runtime::clock::{duration, seconds_between};
use bumpwright_runtime::{Outcome, Reconcile, ReconcileRequest, Status};
use bumpwright_scan::{ScanError, Scanned, Tags, repository_reference};

/// So many of the tags show in the status.
const SHOWN_TAGS: usize = 10;

/// Reconciles `ImageRepository` objects.
#[derive(Debug)]
pub(crate) struct ImageRepositories(pub(crate) Arc<Context>);

/// Whether to scan now, and how long the result is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    why: Option<&'static str>,
    next: Duration,
}

impl Reconcile for ImageRepositories {
    const KIND: &'static Kind = &IMAGE_REPOSITORY;
    const CONTROLLER: &'static str = "image-reflector-controller";

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        let repository: ImageRepository = match request.object.read(&IMAGE_REPOSITORY) {
            Ok(repository) => repository,
            Err(error) => return Outcome::stalled("InvalidSpec", &error),
        };
        let given = tokens::given_by_images(&repository);
        if let Err(closed) = tokens::check_gate(self.0.settings.gates, given, "spec.serviceAccountName") {
            return closed.into();
        }
        let canonical = match repository_reference(&repository.spec.image) {
            Ok(reference) => reference.context(),
            Err(error) => return Outcome::stalled("ImageURLInvalid", &error),
        };
        let objects = match gather::of_images(&self.0, &repository).await {
            Ok(objects) => objects,
            Err(error) => {
                return Outcome::backoff(
                    "AuthenticationFailed",
                    &format!("failed to configure authentication options: {error}"),
                );
            }
        };
        older_keys::tell(request, &objects, &repository.spec.cert_secret_ref);
        let scanned = scanned(request.object, &canonical);
        let due = match self.due(&repository, status, (&canonical, &scanned), request.now) {
            Ok(due) => due,
            Err(error) => {
                return Outcome::backoff("Failure", &format!("failed to determine if it's scan time: {error}"));
            }
        };
        let next = duration(due.next);
        let Some(why) = due.why else {
            return ready(
                status,
                format!("no change in repository configuration since last scan, next scan in {next}"),
                due.next,
                &canonical,
                &repository,
            );
        };
        status.progress(&format!("scanning: {why}"));
        if why == NO_TAGS {
            // Policies wait for a change of state to look at the tags again.
            status.unsettle(&format!("scanning: {why}"));
            request.try_write_status(status).await;
        }
        let before = status.text_at("lastScanResult", "revision").to_owned();
        match self.scan(repository.clone(), objects, scanned).await {
            Ok((tags, revision)) => {
                let trace = if before == revision {
                    format!("tags did not change, next scan in {next}")
                } else {
                    format!("successful scan, next scan in {next}")
                };
                let result = scan_result(&tags.tags, &revision, request.now);
                status.fields.insert("lastScanResult".to_owned(), result);
                ready(status, trace, due.next, &canonical, &repository)
            }
            Err(error) => {
                let reason = reason(&error);
                let message = match &error {
                    Scan::Tags(error) => error.to_string(),
                    Scan::Store(error) => format!("scan failed: failed to set tags for {canonical:?}: {error}"),
                };
                Outcome::backoff(reason, &message)
            }
        }
    }
}

const NO_TAGS: &str = "no tags in database";

/// Why a scan failed.
#[derive(Debug)]
enum Scan {
    Tags(ScanError),
    Store(String),
}

fn reason(error: &Scan) -> &'static str {
    match error {
        Scan::Tags(
            ScanError::Access(_)
            | ScanError::Value(_)
            | ScanError::Secret(_)
            | ScanError::Login(_)
            | ScanError::Provider(_),
        ) => "AuthenticationFailed",
        Scan::Tags(_) | Scan::Store(_) => "ReadOperationFailed",
    }
}

impl ImageRepositories {
    /// Whether it is time (image-reflector-controller v1.2, `shouldScan`).
    fn due(
        &self,
        repository: &ImageRepository,
        status: &Status,
        (canonical, scanned): (&str, &Scanned),
        now: &str,
    ) -> Result<Due, bumpwright_scan::TagsError> {
        let interval = repository.interval();
        let at_once = |why| {
            Ok(Due {
                why: Some(why),
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
        // A request counts as handled although its scan failed; nothing else would make up for it before the interval is over.
        if status.conditions.is(READY, Is::False) {
            return at_once("last reconciliation failed");
        }
        if status.text("canonicalImageName") != canonical {
            return at_once("new image name");
        }
        if !same_content(&exclusions(repository), status.fields.get("observedExclusionList")) {
            return at_once("updated exclusion list");
        }
        if !self.0.tags.has_tags(scanned)? {
            return at_once(NO_TAGS);
        }
        let left = seconds_between(at, now).map(|ago| interval.saturating_sub(Duration::from_secs(ago)));
        match left {
            Some(left) if left >= Duration::from_secs(1) => Ok(Due { why: None, next: left }),
            _ => at_once("triggered by interval"),
        }
    }

    /// Asks the registry and keeps the answer. Blocks a thread of its own.
    async fn scan(
        &self,
        repository: ImageRepository,
        objects: Objects,
        scanned: Scanned,
    ) -> Result<(Tags, String), Scan> {
        let context = Arc::clone(&self.0);
        let work = move || {
            let tags = context.scanner.tags(&repository, &objects).map_err(Scan::Tags)?;
            let revision = context
                .tags
                .set(&scanned, &tags.tags)
                .map_err(|e| Scan::Store(e.to_string()))?;
            Ok((tags, revision))
        };
        bumpwright_runtime::blocking::ask(work)
            .await
            .unwrap_or_else(|error| Err(Scan::Store(error)))
    }
}

/// What an ImageRepository scans.
pub(crate) fn scanned(object: &Object, canonical: &str) -> Scanned {
    Scanned::new(&object.name.namespace, &object.name.name, &object.uid, canonical)
}

fn ready(
    status: &mut Status,
    trace: String,
    after: Duration,
    canonical: &str,
    repository: &ImageRepository,
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

fn scan_result(tags: &[String], revision: &str, now: &str) -> Value {
    let mut result = json!({ "revision": revision, "scanTime": now, "tagCount": tags.len() });
    if let (false, Some(fields)) = (tags.is_empty(), result.as_object_mut()) {
        let latest: Vec<&String> = tags.iter().take(SHOWN_TAGS).collect();
        fields.insert("latestTags".to_owned(), json!(latest));
    }
    result
}

fn exclusions(repository: &ImageRepository) -> Vec<&str> {
    repository.exclusions().collect()
}

/// The same entries in any order.
fn same_content(wanted: &[&str], observed: Option<&Value>) -> bool {
    let Some(observed) = observed.and_then(Value::as_array) else {
        return wanted.is_empty();
    };
    observed.len() == wanted.len() && wanted.iter().all(|entry| observed.iter().any(|seen| seen == entry))
}
