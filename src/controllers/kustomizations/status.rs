//! How the reconciliation of a Kustomization shows (kustomize-controller, `finalizeStatus`; K-197 … K-217,
//! docs/behaviour/kustomize-controller.md, *Status*).

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use bumpwright_api::{Conditions, HistoryEntry, Is, READY, RECONCILING};
use bumpwright_apply::{Entry, InvalidId, Inventory, InventoryStore, Snapshot};
use bumpwright_runtime::{EventType, Outcome, ReconcileRequest, Status, clock};

/// Whether all objects that are waited for are ready.
const HEALTHY: &str = "Healthy";

/// So many outcomes are kept.
const HISTORY: usize = 5;

/// The reason of success.
pub(crate) const SUCCEEDED: &str = "ReconciliationSucceeded";

/// The reason of a Kustomization that only reports (`bumpwright.dev/reconcile: report`), and has something to.
pub(crate) const DRIFT_DETECTED: &str = "DriftDetected";

const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// The reason of Ready and Reconciling until the outcome is known.
const PROGRESSING: &str = "Progressing";

/// The field that controllers of the time of v1beta1 left in place of an inventory.
const SNAPSHOT: &str = "snapshot";

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

/// The reason of events that come before an outcome: that of Ready.
pub(crate) fn reason(status: &Status, event_type: EventType) -> String {
    let ready = status.conditions.get(READY).map(|ready| ready.reason.clone());
    ready.unwrap_or_else(|| match event_type {
        EventType::Warning => "error".to_owned(),
        _ => "info".to_owned(),
    })
}

/// Records an event about a revision.
pub(crate) fn event(
    request: &ReconcileRequest<'_>,
    event_type: EventType,
    reason: &str,
    message: String,
    revision: &Revision,
) {
    request.event(event_type, reason, message, revision.annotations());
}

/// Records that all is done.
pub(crate) fn finished_event(request: &ReconcileRequest<'_>, took: Duration, interval: Duration, revision: &Revision) {
    let (took, interval) = (clock::duration(took), clock::duration(interval));
    let message = format!("Reconciliation finished in {took}, next run in {interval}");
    let mut annotations = revision.annotations();
    annotations.insert(format!("{GROUP}/commit_status"), "update".to_owned());
    request.event(EventType::Normal, SUCCEEDED, message, annotations);
}

/// Notes an outcome of a build in the history: the same one again is counted, and comes first.
fn remember(status: &mut Status, now: &str, digest: &str, took: Duration, reason: &str, revision: &Revision) {
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
fn inventory(status: &Status) -> Result<Option<Inventory>, InvalidId> {
    status.fields.get("inventory").map(Inventory::of_status).transpose()
}

/// What was applied before, as the status has it.
pub(crate) enum Before {
    /// By the inventory.
    Inventory(Inventory),
    /// By the snapshot of an older controller.
    Snapshot(Snapshot),
    /// Nothing ever was.
    Nothing,
}

impl Before {
    /// # Errors
    /// As [`inventory`].
    pub(crate) fn of(status: &Status) -> Result<Self, InvalidId> {
        if let Some(inventory) = inventory(status)? {
            return Ok(Self::Inventory(inventory));
        }
        let snapshot = status.fields.get(SNAPSHOT).map(Snapshot::of_status);
        Ok(snapshot.map_or(Self::Nothing, Self::Snapshot))
    }

    /// The objects of an inventory.
    pub(crate) fn entries(&self) -> &[Entry] {
        match self {
            Self::Inventory(inventory) => &inventory.entries,
            Self::Snapshot(_) | Self::Nothing => &[],
        }
    }

    /// Whether no objects may be left.
    pub(crate) fn is_nothing(&self) -> bool {
        !matches!(self, Self::Snapshot(_)) && self.entries().is_empty()
    }
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

/// How long a stage may take before it is shown in the cluster.
const UNSEEN: Duration = Duration::from_millis(300);

/// The status while a Kustomization is reconciled: what it shows of the stages, and of what they found and did.
pub(crate) struct Progress<'a> {
    request: &'a ReconcileRequest<'a>,
    timeout: Duration,
    /// Of the source; empty until that is found.
    revision: Revision,
    /// Written by a stage and by the inventory of its objects at the same time.
    status: Mutex<&'a mut Status>,
}

impl<'a> Progress<'a> {
    /// `timeout` is that of the spec.
    pub(crate) fn new(request: &'a ReconcileRequest<'a>, timeout: Duration, status: &'a mut Status) -> Self {
        Self {
            request,
            timeout,
            revision: Revision::default(),
            status: Mutex::new(status),
        }
    }

    /// Of the source; empty until that is found.
    pub(crate) fn revision(&self) -> &Revision {
        &self.revision
    }

    /// The source is found.
    pub(crate) fn set_revision(&mut self, revision: &Revision) {
        self.revision = revision.clone();
    }

    /// A stage begins.
    pub(crate) fn begin(&mut self, doing: &str) {
        let message = self.message(doing);
        let status = self.status.get_mut();
        status.unsettle("Reconciliation in progress");
        status.conditions.reconciling(PROGRESSING, &message);
    }

    fn message(&self, doing: &str) -> String {
        let timeout = clock::duration(self.timeout);
        format!(
            "{doing} for revision {} with a timeout of {timeout}",
            self.revision.revision
        )
    }

    /// Works on a stage. One that takes its time is shown in the cluster; writing each of them would take more requests than an
    /// unchanged Kustomization needs otherwise.
    pub(crate) async fn shown<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(UNSEEN) => {}
        }
        // Both go on at the same time: either may have to wait until the other has released the status.
        let (done, ()) = tokio::join!(work, async {
            let mut status = self.status.lock().await;
            self.request.try_write_status(&mut status).await;
        });
        done
    }

    /// The conditions as they are now.
    pub(crate) fn conditions(&mut self) -> Conditions {
        self.status.get_mut().conditions.clone()
    }

    /// Takes a stage back.
    pub(crate) fn restore(&mut self, conditions: Conditions) {
        self.status.get_mut().conditions = conditions;
    }

    /// The revision is built, or cannot be.
    pub(crate) fn attempted(&mut self) {
        set_text(self.status.get_mut(), "lastAttemptedRevision", &self.revision.revision);
    }

    /// What was applied before.
    ///
    /// # Errors
    /// As [`inventory`].
    pub(crate) fn before(&mut self) -> Result<Before, InvalidId> {
        Before::of(self.status.get_mut())
    }

    /// What is applied now.
    pub(crate) fn inventory(&mut self) -> Inventory {
        let known = inventory(self.status.get_mut());
        known.ok().flatten().unwrap_or_default()
    }

    /// These objects are applied.
    pub(crate) fn set_inventory(&mut self, inventory: &Inventory) {
        set_inventory(self.status.get_mut(), inventory);
    }

    /// All that a snapshot names is in the inventory, or deleted.
    pub(crate) fn take_over(&mut self) {
        self.status.get_mut().fields.remove(SNAPSHOT);
    }

    /// There are no objects to wait for.
    pub(crate) fn skip_health_checks(&mut self) {
        self.status.get_mut().conditions.remove(HEALTHY);
    }

    /// Waits for objects begin.
    pub(crate) fn begin_health_checks(&mut self) -> HealthBefore {
        let message = self.message("Running health checks");
        let status = self.status.get_mut();
        let before = HealthBefore {
            healthy: status.conditions.is(HEALTHY, Is::True),
            same_revision: status.text("lastAppliedRevision") == self.revision.revision,
        };
        status.conditions.reconciling(PROGRESSING, &message);
        status.conditions.set(HEALTHY, Is::Unknown, PROGRESSING, &message);
        before
    }

    /// All objects are ready.
    pub(crate) fn healthy(&mut self, message: &str) {
        let conditions = &mut self.status.get_mut().conditions;
        conditions.set(HEALTHY, Is::True, "Succeeded", message);
    }

    /// They are not.
    pub(crate) fn unhealthy(&mut self, reason: &str, message: &str) {
        let conditions = &mut self.status.get_mut().conditions;
        conditions.set(HEALTHY, Is::False, reason, message);
    }

    /// The revision is applied.
    pub(crate) fn applied(&mut self) {
        let status = self.status.get_mut();
        set_text(status, "lastAppliedRevision", &self.revision.revision);
        set_text(status, "lastAppliedOriginRevision", &self.revision.origin);
    }

    /// Takes what was built, by its digest, into the history.
    pub(crate) fn remember(&mut self, digest: &str, took: Duration, reason: &str) {
        let now = self.request.now;
        remember(self.status.get_mut(), now, digest, took, reason, &self.revision);
    }

    /// Records an event about something that was done.
    pub(crate) fn record(&self, message: String) {
        event(self.request, EventType::Normal, PROGRESSING, message, &self.revision);
    }
}

/// Inventories are written while objects are applied.
impl InventoryStore for Progress<'_> {
    fn store<'a>(&'a self, inventory: &'a Inventory) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let mut status = self.status.lock().await;
            set_inventory(&mut status, inventory);
            self.request.write_status(&mut status).await
        }
        .boxed()
    }
}

fn set_inventory(status: &mut Status, inventory: &Inventory) {
    status.fields.insert("inventory".to_owned(), inventory.to_status());
}

/// How the last reconciliation found the objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HealthBefore {
    pub(crate) healthy: bool,
    /// Whether it has applied this revision too.
    pub(crate) same_revision: bool,
}
