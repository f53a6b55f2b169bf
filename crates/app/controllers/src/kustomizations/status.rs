//! The status of a Kustomization (kustomize-controller, `finalizeStatus`; K-197 … K-217,
//! docs/behaviour/kustomize-controller.md, *Status*).

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use bumpwright_api::{ConditionStatus, Conditions, HistoryEntry, READY, RECONCILING, Reason};
use bumpwright_apply::{Entry, InvalidId, Inventory, InventoryStore, Snapshot, StoreError};
use bumpwright_runtime::{Action, EventType, Outcome, ReconcileRequest, Status, clock};

/// Whether all objects to wait for are ready.
const HEALTHY: &str = "Healthy";

/// Number of history entries.
const HISTORY: usize = 5;

const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// The field of v1beta1 controllers in place of an inventory.
const SNAPSHOT: &str = "snapshot";

pub(crate) fn conclude(status: &mut Status, outcome: &Outcome) {
    match outcome {
        Outcome::Ready { message, .. } => {
            status
                .conditions
                .set(READY, ConditionStatus::True, Reason::ReconciliationSucceeded, message);
        }
        Outcome::Stalled { reason, message } => {
            status.conditions.stalled(*reason, message);
            // The others need another generation or another flag of the controller.
            if *reason == Reason::InvalidCELExpression {
                status.mark_observed();
            }
        }
        Outcome::Backoff { reason, message } | Outcome::RequeueAfter { reason, message, .. } => {
            status.conditions.set(READY, ConditionStatus::False, *reason, message);
        }
    }
    settle(status);
}

/// Fields derived from Ready, also for suspended objects.
pub(crate) fn settle(status: &mut Status) {
    if status.conditions.is(READY, ConditionStatus::True) {
        status.conditions.remove(RECONCILING);
        status.mark_observed();
    }
    if status.conditions.is(READY, ConditionStatus::False) && status.conditions.get(RECONCILING).is_some() {
        let doing = status.conditions.message(RECONCILING).to_owned();
        status
            .conditions
            .set(RECONCILING, ConditionStatus::True, Reason::ProgressingWithRetry, &doing);
    }
    status.mark_handled();
}

/// The revision of a source, and its origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Revision {
    /// `main@sha1:…`
    pub(crate) revision: String,
    /// The origin revision of an OCI artifact; empty without one.
    pub(crate) origin: String,
}

impl Revision {
    /// The last applied revision.
    pub(crate) fn applied(status: &Status) -> Self {
        Self {
            revision: status.text("lastAppliedRevision").to_owned(),
            origin: status.text("lastAppliedOriginRevision").to_owned(),
        }
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let named = [("revision", &self.revision), ("originRevision", &self.origin)];
        let annotations = named.into_iter().filter(|(_, value)| !value.is_empty());
        annotations
            .map(|(key, value)| (format!("{GROUP}/{key}"), value.clone()))
            .collect()
    }
}

/// Records an event about a revision during a deletion. Its reason is that of Ready.
pub(crate) fn deletion_event(
    request: &ReconcileRequest<'_>,
    (action, event_type): (Action, EventType),
    status: &Status,
    message: String,
    revision: &Revision,
) {
    let reason = match (status.conditions.get(READY), event_type) {
        (Some(ready), _) => return request.event_after(action, (event_type, ready), message, revision.annotations()),
        (None, EventType::Warning) => Reason::error,
        (None, _) => Reason::info,
    };
    event(request, (action, event_type), reason, message, revision);
}

/// Records an event about a revision.
pub(crate) fn event(
    request: &ReconcileRequest<'_>,
    (action, event_type): (Action, EventType),
    reason: Reason,
    message: String,
    revision: &Revision,
) {
    request.event(action, event_type, reason, message, revision.annotations());
}

pub(crate) fn finished_event(request: &ReconcileRequest<'_>, took: Duration, interval: Duration, revision: &Revision) {
    let (took, interval) = (clock::duration(took), clock::duration(interval));
    let message = format!("Reconciliation finished in {took}, next run in {interval}");
    let mut annotations = revision.annotations();
    annotations.insert(format!("{GROUP}/commit_status"), "update".to_owned());
    request.event(
        Action::Reconcile,
        EventType::Normal,
        Reason::ReconciliationSucceeded,
        message,
        annotations,
    );
}

/// Adds a build to the history: an equal entry is counted and moved to the front.
fn remember(status: &mut Status, now: &str, digest: &str, took: Duration, reason: Reason, revision: &Revision) {
    let mut history = history(status);
    let same = |entry: &HistoryEntry| entry.digest == digest && entry.last_reconciled_status == reason.as_str();
    let mut entry = match history.iter().position(same) {
        Some(place) => history.remove(place),
        None => HistoryEntry {
            digest: digest.to_owned(),
            first_reconciled: now.to_owned(),
            last_reconciled: String::new(),
            last_reconciled_duration: String::new(),
            last_reconciled_status: reason.to_string(),
            total_reconciliations: 0,
            metadata: BTreeMap::new(),
        },
    };
    now.clone_into(&mut entry.last_reconciled);
    entry.last_reconciled_duration = clock::duration(took).to_string();
    entry.total_reconciliations += 1;
    let named = [("revision", &revision.revision), ("originRevision", &revision.origin)];
    let values = named
        .into_iter()
        .filter(|(key, value)| *key == "revision" || !value.is_empty());
    entry.metadata = values.map(|(key, value)| (key.to_owned(), value.clone())).collect();
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

/// The inventory in the status; None if nothing was ever applied.
///
/// # Errors
/// It cannot be parsed: nothing may be deleted then.
fn inventory(status: &Status) -> Result<Option<Inventory>, InvalidId> {
    status.fields.get("inventory").map(Inventory::of_status).transpose()
}

/// The record of applied objects in the status.
pub(crate) enum Before {
    Inventory(Inventory),
    /// A snapshot of an older controller.
    Snapshot(Snapshot),
    Nothing,
}

impl Before {
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

    /// Returns whether the inventory is empty.
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

/// A stage is written to the cluster when it takes longer than this.
const UNSEEN: Duration = Duration::from_millis(300);

/// The status during a reconciliation: stages and their results.
pub(crate) struct Progress<'a> {
    request: &'a ReconcileRequest<'a>,
    timeout: Duration,
    /// The source's revision; empty until it is known.
    revision: Revision,
    /// Shared by a stage and the inventory that is stored during it.
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

    /// The source's revision; empty until it is known.
    pub(crate) fn revision(&self) -> &Revision {
        &self.revision
    }

    pub(crate) fn set_revision(&mut self, revision: &Revision) {
        self.revision = revision.clone();
    }

    pub(crate) fn begin(&mut self, doing: &str) {
        let message = self.message(doing);
        let status = self.status.get_mut();
        status.unsettle("Reconciliation in progress");
        status.conditions.reconciling(Reason::Progressing, &message);
    }

    fn message(&self, doing: &str) -> String {
        let timeout = clock::duration(self.timeout);
        format!(
            "{doing} for revision {} with a timeout of {timeout}",
            self.revision.revision
        )
    }

    /// Runs a stage. A slow one is written to the cluster; writing each would take more requests than an unchanged
    /// Kustomization needs otherwise.
    pub(crate) async fn shown<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(UNSEEN) => {}
        }
        // They run concurrently, and either may have to wait for the lock on the status.
        let (done, ()) = tokio::join!(work, async {
            let mut status = self.status.lock().await;
            self.request.try_write_status(&mut status).await;
        });
        done
    }

    pub(crate) fn conditions(&mut self) -> Conditions {
        self.status.get_mut().conditions.clone()
    }

    pub(crate) fn restore(&mut self, conditions: Conditions) {
        self.status.get_mut().conditions = conditions;
    }

    /// Records that the revision is built, or cannot be.
    pub(crate) fn attempted(&mut self) {
        set_text(self.status.get_mut(), "lastAttemptedRevision", &self.revision.revision);
    }

    /// The record of applied objects.
    pub(crate) fn before(&mut self) -> Result<Before, InvalidId> {
        Before::of(self.status.get_mut())
    }

    pub(crate) fn inventory(&mut self) -> Result<Inventory, InvalidId> {
        Ok(inventory(self.status.get_mut())?.unwrap_or_default())
    }

    pub(crate) fn set_inventory(&mut self, inventory: &Inventory) {
        set_inventory(self.status.get_mut(), inventory);
    }

    /// Removes the snapshot, once its objects are in the inventory or deleted.
    pub(crate) fn take_over(&mut self) {
        self.status.get_mut().fields.remove(SNAPSHOT);
    }

    /// Removes the condition: no object has to become healthy.
    pub(crate) fn skip_health_checks(&mut self) {
        self.status.get_mut().conditions.remove(HEALTHY);
    }

    /// Begins to wait for objects.
    pub(crate) fn begin_health_checks(&mut self) -> HealthBefore {
        let message = self.message("Running health checks");
        let status = self.status.get_mut();
        let before = HealthBefore {
            healthy: status.conditions.is(HEALTHY, ConditionStatus::True),
            same_revision: status.text("lastAppliedRevision") == self.revision.revision,
        };
        status.conditions.reconciling(Reason::Progressing, &message);
        status
            .conditions
            .set(HEALTHY, ConditionStatus::Unknown, Reason::Progressing, &message);
        before
    }

    /// Records that all objects are ready.
    pub(crate) fn healthy(&mut self, message: &str) {
        let conditions = &mut self.status.get_mut().conditions;
        conditions.set(HEALTHY, ConditionStatus::True, Reason::Succeeded, message);
    }

    /// Records that some are not ready.
    pub(crate) fn unhealthy(&mut self, reason: Reason, message: &str) {
        let conditions = &mut self.status.get_mut().conditions;
        conditions.set(HEALTHY, ConditionStatus::False, reason, message);
    }

    /// Records the applied revision.
    pub(crate) fn applied(&mut self) {
        let status = self.status.get_mut();
        set_text(status, "lastAppliedRevision", &self.revision.revision);
        set_text(status, "lastAppliedOriginRevision", &self.revision.origin);
    }

    /// Whether the last reconciliation has applied this build of this spec.
    pub(crate) fn applies_again(&mut self, digest: &str) -> bool {
        let generation = self.request.object.generation;
        let status = self.status.get_mut();
        let observed = status.fields.get("observedGeneration").and_then(Value::as_i64);
        let same = |last: &HistoryEntry| {
            last.digest == digest && last.last_reconciled_status == Reason::ReconciliationSucceeded.as_str()
        };
        observed == Some(generation) && history(status).first().is_some_and(same)
    }

    /// Adds a build, by its digest, to the history.
    pub(crate) fn remember(&mut self, digest: &str, took: Duration, reason: Reason) {
        let now = self.request.now;
        remember(self.status.get_mut(), now, digest, took, reason, &self.revision);
    }

    pub(crate) fn record(&self, action: Action, message: String) {
        event(
            self.request,
            (action, EventType::Normal),
            Reason::Progressing,
            message,
            &self.revision,
        );
    }
}

/// Stores inventories while objects are applied.
impl InventoryStore for Progress<'_> {
    fn store<'a>(&'a self, inventory: &'a Inventory) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let mut status = self.status.lock().await;
            set_inventory(&mut status, inventory);
            Ok(self.request.write_status(&mut status).await?)
        }
        .boxed()
    }
}

fn set_inventory(status: &mut Status, inventory: &Inventory) {
    status.fields.insert("inventory".to_owned(), inventory.to_status());
}

/// The health at the end of the last reconciliation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HealthBefore {
    pub(crate) healthy: bool,
    /// Whether that reconciliation has applied this revision.
    pub(crate) same_revision: bool,
}
