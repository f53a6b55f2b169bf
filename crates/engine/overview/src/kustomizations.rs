//! Kustomizations.

use bumpwright_api::ObjectName;
use bumpwright_text::Excerpt;
use serde::Serialize;

use super::facts::{HistoryEntry, KustomizationFacts, Meta};
use super::readiness::{Readiness, State, seconds};
use super::world::{Id, KUSTOMIZATION, World};

/// The label prefix that Flux's kustomize-controller and ours give applied objects.
pub(crate) const OWNER_NAME: &str = "kustomize.toolkit.fluxcd.io/name";
pub(crate) const OWNER_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";

/// The reason of Ready after a reconciliation that went well.
const SUCCEEDED: &str = "ReconciliationSucceeded";

/// A Kustomization as views show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Kustomization {
    pub id: Id,
    pub readiness: Readiness,
    pub source: Id,
    /// The path in it.
    pub path: String,
    /// Whether it applies its objects to another cluster.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// The Kustomization that applied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Id>,
    /// What must be ready before.
    pub depends_on: Vec<Id>,
    /// Number of those that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub depends_on_left_out: usize,
    /// The revision that it applied last; empty before the first time.
    pub applied: String,
    /// The revision that it tried last.
    pub attempted: String,
    /// The revision that its source has; empty when it is not known.
    pub available: String,
    /// Number of applied objects.
    pub objects: usize,
    /// Its last reconciliations, the latest first.
    pub history: Vec<Applied>,
}

impl Kustomization {
    /// Whether it has what its source has.
    #[must_use]
    pub fn is_up_to_date(&self) -> bool {
        self.available.is_empty() || self.applied == self.available
    }
}

/// Some reconciliations of one build with one outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    pub revision: String,
    /// The reason of Ready after it.
    pub outcome: String,
    /// When that happened first, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<i64>,
    /// When that happened last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<i64>,
    /// How long it took, as in Go: `1.2s`.
    pub took: String,
    /// How often.
    pub times: i64,
}

impl Applied {
    /// Whether it ended well.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.outcome == SUCCEEDED
    }
}

impl From<&HistoryEntry> for Applied {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            revision: entry.metadata.0.get("revision").cloned().unwrap_or_default(),
            outcome: entry.last_reconciled_status.clone(),
            first: seconds(&entry.first_reconciled),
            last: seconds(&entry.last_reconciled),
            took: entry.last_reconciled_duration.clone(),
            times: entry.total_reconciliations,
        }
    }
}

impl Meta {
    /// The Kustomization that applied the object, by its labels.
    #[must_use]
    pub fn kustomization(&self) -> Option<Id> {
        let label = |key: &str| self.labels.0.get(key).filter(|text| !text.is_empty());
        let name = ObjectName::new(label(OWNER_NAMESPACE)?, label(OWNER_NAME)?);
        Some(Id::new(KUSTOMIZATION, name))
    }
}

impl KustomizationFacts {
    /// The Kustomization that applied it.
    #[must_use]
    pub fn owner(&self) -> Option<Id> {
        let owner = self.metadata.kustomization();
        owner.filter(|owner| owner.name != self.metadata.id())
    }

    /// Whether it applies its objects to another cluster (`spec.kubeConfig`).
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.spec.kube_config.is_some()
    }

    /// When the first of the attempts was that failed, one after the other, until now.
    pub(crate) fn failing_since(&self) -> Option<i64> {
        let attempts = self.status.history.iter().map(Applied::from);
        let failed = attempts.take_while(|one| !one.succeeded());
        failed.filter_map(|one| one.first).min()
    }

    /// What must be ready before.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = Id> {
        let own = &self.metadata.namespace;
        self.spec
            .depends_on
            .iter()
            .map(move |one| Id::new(KUSTOMIZATION, one.from(own)))
    }
}

impl World {
    #[must_use]
    pub fn kustomizations(&self) -> Vec<Kustomization> {
        let kustomizations = self.kustomizations.iter();
        kustomizations
            .map(|(name, facts)| self.kustomization(name, facts))
            .collect()
    }

    /// A Kustomization of this world.
    #[must_use]
    pub fn kustomization(&self, name: &ObjectName, facts: &KustomizationFacts) -> Kustomization {
        let source = facts.source();
        Kustomization {
            id: Id::new(KUSTOMIZATION, name.clone()),
            readiness: facts.readiness(),
            available: self.revision_of(&source).to_owned(),
            source,
            path: facts.spec.path.clone(),
            elsewhere: facts.is_elsewhere(),
            owner: facts.owner(),
            depends_on: facts.dependencies().collect(),
            depends_on_left_out: facts.spec.depends_on.left_out,
            applied: facts.status.last_applied_revision.clone(),
            attempted: facts.status.last_attempted_revision.clone(),

            objects: facts.status.inventory.entries.count(),
            history: facts.status.history.iter().map(Applied::from).collect(),
        }
    }

    /// Why the source's revision does not run in a Kustomization yet; none when it does.
    pub(crate) fn waits(&self, name: &ObjectName, facts: &KustomizationFacts, revision: &str) -> Option<String> {
        let readiness = facts.readiness();
        let is_applied = facts.status.last_applied_revision == revision;
        let (reason, message) = (&readiness.reason, first_line(&readiness.message));
        let why = match readiness.state {
            State::Ready if is_applied => return None,
            // Suspending it is a change of its spec, which nobody reconciles: it runs what it has applied.
            _ if readiness.suspended && is_applied && reason == SUCCEEDED => return None,
            _ if readiness.suspended && is_applied && !reason.is_empty() => {
                format!("is suspended, and was not ready before: {reason}: {message}")
            }
            _ if readiness.suspended => "is suspended".to_owned(),
            state if state.is_broken() => format!("fails: {reason}: {message}"),
            State::Deleting => "is being deleted".to_owned(),
            _ if !is_applied => "has not applied it yet".to_owned(),
            _ if readiness.is_behind => "has not reconciled its newest spec yet".to_owned(),
            _ if is_health_check(message) => "waits for its objects to be healthy".to_owned(),
            State::Unknown => "has not said anything yet".to_owned(),
            _ => format!("applies it again: {message}"),
        };
        Some(format!("Kustomization {name} {why}"))
    }
}

/// Whether a message is one of kustomize-controller, or ours, about objects whose health is awaited.
fn is_health_check(message: &str) -> bool {
    message.to_ascii_lowercase().contains("health check")
}

#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(count: &usize) -> bool {
    *count == 0
}

pub(crate) fn first_line(text: &str) -> &str {
    text.first_line()
}
