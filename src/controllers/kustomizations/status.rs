//! How the reconciliation of a Kustomization shows (kustomize-controller, `finalizeStatus`; K-197 … K-217,
//! docs/behaviour/kustomize-controller.md, *Status*).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use bumpwright_api::{HistoryEntry, Is, READY, RECONCILING};
use bumpwright_apply::{InvalidId, Inventory};
use bumpwright_runtime::{EventType, Outcome, ReconcileRequest, Status, clock};

/// Whether all objects that are waited for are ready.
pub(crate) const HEALTHY: &str = "Healthy";

/// So many outcomes are kept.
const HISTORY: usize = 5;

/// The reason of success.
pub(crate) const SUCCEEDED: &str = "ReconciliationSucceeded";

/// The reason of a Kustomization that only reports (`bumpwright.dev/reconcile: report`), and has something to.
pub(crate) const DRIFT_DETECTED: &str = "DriftDetected";

const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// A stage begins.
pub(crate) fn progress(status: &mut Status, message: &str) {
    status.unsettle("Reconciliation in progress");
    status.conditions.reconciling("Progressing", message);
}

/// The reconciliation ends.
pub(crate) fn conclude(status: &mut Status, outcome: &Outcome) {
    match outcome {
        Outcome::Ready { message, .. } => {
            status.conditions.set(READY, Is::True, SUCCEEDED, message);
        }
        Outcome::Stalled { reason, message } => {
            status.conditions.stalled(reason, message);
            // The others need another generation or another flag of the controller.
            if *reason == "InvalidCELExpression" {
                status.mark_observed();
            }
        }
        Outcome::Backoff { reason, message } | Outcome::RequeueAfter { reason, message, .. } => {
            status.conditions.set(READY, Is::False, reason, message);
        }
    }
    settle(status);
}

/// What follows from Ready, also for an object that is suspended.
pub(crate) fn settle(status: &mut Status) {
    if status.conditions.is(READY, Is::True) {
        status.conditions.remove(RECONCILING);
        status.mark_observed();
    }
    if status.conditions.is(READY, Is::False) && status.conditions.get(RECONCILING).is_some() {
        let doing = status.conditions.message(RECONCILING).to_owned();
        status
            .conditions
            .set(RECONCILING, Is::True, "ProgressingWithRetry", &doing);
    }
    status.mark_handled();
}

/// What the objects of a source are called: its revision, and where that came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Revision {
    /// `main@sha1:…`
    pub(crate) revision: String,
    /// Of an OCI artifact, from its annotations; empty when it has none.
    pub(crate) origin: String,
}

impl Revision {
    /// The last one that was applied.
    pub(crate) fn applied(status: &Status) -> Self {
        Self {
            revision: status.text("lastAppliedRevision").to_owned(),
            origin: status.text("lastAppliedOriginRevision").to_owned(),
        }
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let named = [("revision", &self.revision), ("originRevision", &self.origin)];
        let there = named.into_iter().filter(|(_, value)| !value.is_empty());
        there
            .map(|(key, value)| (format!("{GROUP}/{key}"), value.clone()))
            .collect()
    }
}

/// Tells of something, under the reason that Ready has by now.
pub(crate) fn event(
    request: &ReconcileRequest<'_>,
    status: &Status,
    event_type: EventType,
    message: String,
    revision: &Revision,
) {
    let default = if event_type == EventType::Warning {
        "error"
    } else {
        "info"
    };
    let reason = status.conditions.get(READY).map_or(default, |ready| &ready.reason);
    request.event(event_type, reason, message, revision.annotations());
}

/// Tells that all is done.
pub(crate) fn finished_event(request: &ReconcileRequest<'_>, took: Duration, interval: Duration, revision: &Revision) {
    let (took, interval) = (clock::duration(took), clock::duration(interval));
    let message = format!("Reconciliation finished in {took}, next run in {interval}");
    let mut annotations = revision.annotations();
    annotations.insert(format!("{GROUP}/commit_status"), "update".to_owned());
    request.event(EventType::Normal, SUCCEEDED, message, annotations);
}

/// Notes an outcome of a build in the history: the same one again is counted, and comes first.
pub(crate) fn remember(
    status: &mut Status,
    now: &str,
    digest: &str,
    took: Duration,
    reason: &str,
    revision: &Revision,
) {
    let mut history = history(status);
    let same = |entry: &HistoryEntry| entry.digest == digest && entry.last_reconciled_status == reason;
    let mut entry = match history.iter().position(same) {
        Some(place) => history.remove(place),
        None => HistoryEntry {
            digest: digest.to_owned(),
            first_reconciled: now.to_owned(),
            last_reconciled: String::new(),
            last_reconciled_duration: String::new(),
            last_reconciled_status: reason.to_owned(),
            total_reconciliations: 0,
            metadata: BTreeMap::new(),
        },
    };
    now.clone_into(&mut entry.last_reconciled);
    entry.last_reconciled_duration = clock::duration(took).to_string();
    entry.total_reconciliations += 1;
    let named = [("revision", &revision.revision), ("originRevision", &revision.origin)];
    let there = named
        .into_iter()
        .filter(|(key, value)| *key == "revision" || !value.is_empty());
    entry.metadata = there.map(|(key, value)| (key.to_owned(), value.clone())).collect();
    history.insert(0, entry);
    history.truncate(HISTORY);
    status.fields.insert("history".to_owned(), json!(history));
}

fn history(status: &Status) -> Vec<HistoryEntry> {
    let history = status.fields.get("history").cloned();
    history
        .and_then(|history| serde_json::from_value(history).ok())
        .unwrap_or_default()
}

/// What was applied, as the status has it; None when nothing ever was.
///
/// # Errors
/// When it cannot be read: nothing may be deleted then.
pub(crate) fn inventory(status: &Status) -> Result<Option<Inventory>, InvalidId> {
    status.fields.get("inventory").map(Inventory::of_status).transpose()
}

/// Puts an inventory into the status.
pub(crate) fn set_inventory(status: &mut Status, inventory: &Inventory) {
    status.fields.insert("inventory".to_owned(), inventory.to_status());
}

/// Notes which revision is tried.
pub(crate) fn attempt(status: &mut Status, revision: &Revision) {
    set_text(status, "lastAttemptedRevision", &revision.revision);
}

/// Notes which revision was applied.
pub(crate) fn applied(status: &mut Status, revision: &Revision) {
    set_text(status, "lastAppliedRevision", &revision.revision);
    set_text(status, "lastAppliedOriginRevision", &revision.origin);
}

fn set_text(status: &mut Status, field: &str, text: &str) {
    match text {
        "" => {
            status.fields.remove(field);
        }
        text => {
            status.fields.insert(field.to_owned(), Value::String(text.to_owned()));
        }
    }
}

/// How long a stage may take before the cluster is told of it.
const UNSEEN: Duration = Duration::from_millis(300);

/// The status during a stage: the work on the stage may write it too.
pub(crate) struct Stage<'a, 't> {
    pub(crate) request: &'a ReconcileRequest<'t>,
    pub(crate) status: Mutex<&'a mut Status>,
}

impl<'a, 't> Stage<'a, 't> {
    /// A stage begins, as the status says.
    pub(crate) fn new(request: &'a ReconcileRequest<'t>, status: &'a mut Status) -> Self {
        let status = Mutex::new(status);
        Self { request, status }
    }

    /// Works on it. A stage that takes its time is shown in the cluster.
    pub(crate) async fn shown<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(UNSEEN) => {}
        }
        // Both go on at the same time: either may have to wait for the other to let go of the status.
        let (done, ()) = tokio::join!(work, async {
            let mut status = self.status.lock().await;
            self.request.try_write_status(&mut status).await;
        });
        done
    }
}
