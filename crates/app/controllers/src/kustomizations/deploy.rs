//! The second half of a reconciliation: apply, prune, health; or a report of the changes.

use std::time::Instant;

use super::Reconciliation;
use super::apply;
use super::cluster::Target;
use super::error::Error;
use super::health::{self, Checked, Unhealthy, Waiting};
use super::report;
use super::status;
use bumpwright_api::{ObjectId, Reason};
use bumpwright_apply::{ChangeSet, Desired, Entry, Inventory, prune};
use bumpwright_cel::HealthChecks;
use bumpwright_diff::SecretMask;
use bumpwright_kube::KUSTOMIZATION;
use bumpwright_overlay::{LeftOut, may_lack};
use bumpwright_runtime::{Action, EventType, Outcome, clock};

/// A deployment. The objects themselves are not kept: they are many, and waits are long.
pub(super) struct Deployment {
    /// The digest of the build.
    pub(super) digest: String,
    /// The Jobs that are deleted some time after they end.
    pub(super) jobs_with_ttl: Vec<ObjectId>,
    /// Objects that lost their names by substitution.
    pub(super) left_out: Vec<LeftOut>,
    pub(super) target: Target,
    pub(super) before: Inventory,
    /// Values that are never printed.
    pub(super) mask: SecretMask,
}

impl Deployment {
    /// Returns whether an object that is not built any more may only have lost its name.
    fn may_lack(&self, entry: &Entry) -> bool {
        may_lack(&self.left_out, &entry.id.group, &entry.id.kind)
    }

    /// The objects of the previous inventory that are not built any more.
    pub(super) fn deletable(&self) -> Inventory {
        let entries = self.before.entries.iter().filter(|entry| !self.may_lack(entry));
        Inventory {
            entries: entries.cloned().collect(),
        }
    }

    fn waiting(&self, objects: Vec<Checked>, checks: HealthChecks) -> Waiting<'_> {
        Waiting {
            cluster: &self.target.cluster,
            jobs_with_ttl: &self.jobs_with_ttl,
            objects,
            checks,
        }
    }
}

impl Reconciliation<'_> {
    /// Applies the objects, prunes, and waits until all are ready. `room` is the memory of the objects.
    pub(super) async fn deploy<Room>(
        &mut self,
        deployment: &Deployment,
        objects: Vec<Desired>,
        room: Room,
        checks: HealthChecks,
    ) -> Result<(), Error> {
        let changes = self.apply(deployment, objects).await?;
        // Waits are long, and the objects are not needed any more.
        drop(room);
        self.prune(deployment).await?;
        self.progress.take_over();
        self.check_health(deployment, &changes, checks).await?;
        self.progress.applied();
        Ok(())
    }

    async fn apply(&mut self, deployment: &Deployment, objects: Vec<Desired>) -> Result<ChangeSet, Error> {
        let (shared, kustomization) = (self.shared, self.kustomization);
        let (object, log) = (self.request.object, self.request.log);
        let memory = self.memories.of(object, log).await;
        let known = (&*memory, self.request.asked());
        let applying = apply::apply(shared, kustomization, deployment, objects, known, &self.progress);
        let applied = self.progress.shown(applying).await;
        self.memories.keep(object, &memory, log).await;
        apply::report(shared, self.request, &applied);
        let changes = match applied {
            Ok(applied) => applied.changes,
            Err(failed) => {
                // Stages before the failure may have created new objects.
                if !failed.inventory.entries.is_empty() {
                    self.progress.set_inventory(&failed.inventory);
                }
                return Err(Error::ReconciliationFailed(deployment.mask.hide(&failed.to_string())));
            }
        };
        let changed = changes.changed();
        self.count_drift(deployment, &changed);
        if !changed.is_empty() {
            self.progress.record(Action::Apply, changed.to_string());
        }
        self.progress.set_inventory(&Inventory::of_changes(&changes));
        Ok(changes)
    }

    /// Counts a correction: the build is the one of last time, and objects were different all the same. A Job that is
    /// made again may have reached the end of its time to live.
    fn count_drift(&mut self, deployment: &Deployment, changed: &ChangeSet) {
        let name = &self.request.object.name;
        let metrics = &self.shared.metrics;
        let corrections = metrics.drift_corrections(KUSTOMIZATION.kind, &name.namespace, &name.name);
        let by_others = changed.changes.iter().any(|change| change.id.kind != "Job");
        if by_others && self.progress.applies_again(&deployment.digest) {
            corrections.increment();
        }
    }

    /// Reports the changes that an apply would make, without applying or pruning.
    pub(super) async fn report(&mut self, deployment: &Deployment, objects: Vec<Desired>) -> Result<Outcome, Error> {
        let comparing = report::compare(self.shared, self.kustomization, deployment, objects);
        let preview = self
            .progress
            .shown(comparing)
            .await
            .map_err(|error| Error::ReconciliationFailed(error.to_string()))?;
        let (revision, after) = (self.progress.revision(), self.kustomization.spec.interval());
        if preview.differences.is_empty() {
            return Ok(Outcome::Ready {
                message: report::none(&revision.revision),
                news: None,
                trace: String::new(),
                after: Some(after),
            });
        }
        let (reason, message) = (Reason::DriftDetected, report::drift(&preview, &revision.revision));
        status::event(
            self.request,
            (Action::Apply, EventType::Warning),
            reason,
            message.clone(),
            revision,
        );
        Ok(Outcome::RequeueAfter { reason, message, after })
    }

    async fn prune(&mut self, deployment: &Deployment) -> Result<(), Error> {
        let now = self.progress.inventory();
        let mut now = now.map_err(|error| Error::PruneFailed(error.to_string()))?;
        let stale = deployment.before.without(&now);
        let (held, stale): (Vec<_>, Vec<_>) = stale.into_iter().partition(|entry| deployment.may_lack(entry));
        if now.merge(held) {
            self.progress.set_inventory(&now);
        }
        if !self.kustomization.spec.prune || stale.is_empty() {
            return Ok(());
        }
        // They stay in the inventory until they are gone: the status may be written meanwhile, and
        // this process may end.
        let mut inventory = now.clone();
        inventory.merge(stale.iter().cloned());
        self.progress.set_inventory(&inventory);
        let (count, before) = (stale.len(), deployment.before.entries.len());
        let revision = &self.progress.revision().revision;
        if let Some(message) = self.annotations.refuses_prune(count, before, revision) {
            return Err(Error::PruneRefused(message));
        }
        let settings = apply::settings(self.shared, self.kustomization);
        let deleting = prune(&deployment.target.cluster, stale, &settings);
        let deleted = self.progress.shown(deleting).await;
        if let Err(error) = &deleted {
            // Objects whose deletion is uncertain stay in the inventory, so that they are not orphaned.
            now.merge(error.survivors.iter().cloned());
        }
        self.progress.set_inventory(&now);
        let changes = deleted.map_err(|error| Error::PruneFailed(deployment.mask.hide(&error.to_string())))?;
        if !changes.is_empty() {
            let message = changes.to_string();
            let text = format!("garbage collection completed: {message}");
            self.request.log.info(&text);
            self.progress.record(Action::Prune, message);
        }
        Ok(())
    }

    /// Waits until the objects are ready.
    async fn check_health(
        &mut self,
        deployment: &Deployment,
        changes: &ChangeSet,
        checks: HealthChecks,
    ) -> Result<(), Error> {
        let objects = health::objects(self.kustomization, changes)
            .map_err(|error| Error::HealthCheckFailed(error.to_string()))?;
        if objects.is_empty() {
            self.progress.skip_health_checks();
            return Ok(());
        }
        let before = self.progress.begin_health_checks();
        let began = Instant::now();
        self.request.release_worker();
        let objects = deployment.waiting(objects, checks);
        let waiting = health::wait(self.shared, self.request, self.kustomization, objects);
        let waited = self.progress.shown(waiting).await;
        let took = clock::duration(began.elapsed());
        match waited {
            Ok(()) => {
                let message = format!("Health check passed in {took}");
                if !before.healthy || (!before.same_revision && !changes.changed().is_empty()) {
                    self.progress.record(Action::HealthCheck, message.clone());
                }
                self.progress.healthy(&message);
                Ok(())
            }
            Err(Unhealthy::Failed(message)) => {
                let message = deployment.mask.hide(&message);
                let error = Error::HealthCheckFailed(format!("health check failed after {took}: {message}"));
                self.progress.unhealthy(error.reason(), &message);
                Err(error)
            }
            Err(Unhealthy::Overtaken(trigger)) => Err(Error::HealthCheckCanceled(trigger)),
            Err(Unhealthy::Ending) => Err(Error::ShuttingDown),
        }
    }
}
