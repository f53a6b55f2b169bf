//! The objects of a Kustomization on their way into a cluster: apply, prune, health; or a report of what would change.

use std::time::Instant;

use super::Reconciliation;
use super::apply::{self, Applying};
use super::error::Error;
use super::health::{self, Checked, Unhealthy, Waiting};
use super::report;
use super::status::{self, HEALTHY};
use super::takeover;
use super::target::Target;
use bumpwright_api::{Is, ObjectId};
use bumpwright_apply::{ApplyError, ChangeSet, Desired, Entry, Inventory, Refusals, preview, prune};
use bumpwright_cel::HealthChecks;
use bumpwright_diff::SecretMask;
use bumpwright_overlay::{LeftOut, may_lack};
use bumpwright_runtime::{EventType, Outcome, Status, clock};

/// What is being applied. The objects themselves are not kept: they are many, and waits are long.
pub(super) struct Deployment {
    /// Of what was built.
    pub(super) digest: String,
    /// The Jobs among the objects that are deleted some time after they ended.
    pub(super) jobs_with_ttl: Vec<ObjectId>,
    /// What was an object before its variables were replaced.
    pub(super) left_out: Vec<LeftOut>,
    pub(super) target: Target,
    /// What was applied before.
    pub(super) before: Inventory,
    /// What is told of no object.
    pub(super) mask: SecretMask,
}

impl Deployment {
    /// Whether an object that is not built any more may only have lost its name.
    fn may_lack(&self, entry: &Entry) -> bool {
        may_lack(&self.left_out, &entry.id.group, &entry.id.kind)
    }

    /// What was applied before, and would be deleted where it is not built any more.
    fn deletable(&self) -> Inventory {
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
    /// Applies the objects, prunes what is not built any more, and waits until all are ready. `room` is the memory that they take.
    pub(super) async fn deploy<Room>(
        &self,
        status: &mut Status,
        deployment: &Deployment,
        objects: Vec<Desired>,
        room: Room,
        checks: HealthChecks,
    ) -> Result<(), Error> {
        let changes = self.apply(status, deployment, objects).await?;
        // Waits are long, and the objects are gone.
        drop(room);
        self.prune(status, deployment).await?;
        takeover::is_done(status);
        self.wait(status, deployment, &changes, checks).await?;
        status::applied(status, &self.revision);
        Ok(())
    }

    async fn apply(
        &self,
        status: &mut Status,
        deployment: &Deployment,
        objects: Vec<Desired>,
    ) -> Result<ChangeSet, Error> {
        let applying = Applying {
            context: self.context,
            request: self.request,
            kustomization: self.kustomization,
            target: &deployment.target,
            mask: &deployment.mask,
        };
        let memory = self.memories.of(&self.request.object.name);
        let applied = applying.apply(status, objects, &memory, &deployment.before).await;
        let changes = applied.map_err(Error::ReconciliationFailed)?;
        let changed = changes.changed();
        if !changed.is_empty() {
            self.record(status, changed.to_string());
        }
        status::set_inventory(status, &Inventory::of_changes(&changes));
        Ok(changes)
    }

    /// Records an event that is good news.
    fn record(&self, status: &Status, message: String) {
        status::event(self.request, status, EventType::Normal, message, &self.revision);
    }

    /// Reports what differs. Nothing is applied, and nothing pruned.
    pub(super) async fn report(
        &self,
        status: &mut Status,
        deployment: &Deployment,
        objects: Vec<Desired>,
    ) -> Result<Outcome, Error> {
        let mut settings = apply::settings(self.context, self.kustomization);
        settings.mask = deployment.mask.clone();
        let (cluster, prunes) = (&deployment.target.cluster, self.kustomization.spec.prune);
        let before = deployment.deletable();
        let comparing = preview(cluster, objects, &settings, &before, prunes);
        let compared = self.show(status, comparing).await;
        let preview = compared.map_err(|error| {
            let message = deployment.mask.hide(&error.to_string());
            Error::ReconciliationFailed(message)
        })?;
        if !preview.refused.is_empty() {
            let message = ApplyError::from(Refusals(preview.refused)).to_string();
            return Err(Error::ReconciliationFailed(message));
        }
        let (revision, after) = (&self.revision.revision, self.kustomization.spec.interval());
        if preview.differences.is_empty() {
            return Ok(Outcome::Ready {
                message: report::none(revision),
                news: None,
                trace: String::new(),
                after: Some(after),
            });
        }
        let message = report::drift(&preview, revision);
        let outcome = Outcome::RequeueAfter {
            reason: status::DRIFT_DETECTED,
            message: message.clone(),
            after,
        };
        self.conclude(status, &outcome, EventType::Warning, message);
        Ok(outcome)
    }

    async fn prune(&self, status: &mut Status, deployment: &Deployment) -> Result<(), Error> {
        let mut now = status::inventory(status).ok().flatten().unwrap_or_default();
        let stale = deployment.before.without(&now);
        let (held, stale): (Vec<_>, Vec<_>) = stale.into_iter().partition(|entry| deployment.may_lack(entry));
        if now.merge(held) {
            status::set_inventory(status, &now);
        }
        if !self.kustomization.spec.prune || stale.is_empty() {
            return Ok(());
        }
        let (stale_objects, before) = (stale.len(), deployment.before.entries.len());
        let revision = &self.revision.revision;
        if let Some(message) = self.annotations.refuses_prune(stale_objects, before, revision) {
            now.merge(stale);
            status::set_inventory(status, &now);
            return Err(Error::PruneRefused(message));
        }
        // Until they are gone they are ours: the status may be written meanwhile, and this process may end.
        let mut known = now.clone();
        known.merge(stale.iter().cloned());
        status::set_inventory(status, &known);
        let settings = apply::settings(self.context, self.kustomization);
        let deleting = prune(&deployment.target.cluster, stale, &settings);
        match self.show(status, deleting).await {
            Ok(changes) => {
                status::set_inventory(status, &now);
                if !changes.is_empty() {
                    let message = changes.to_string();
                    self.request
                        .log
                        .info(&format!("garbage collection completed: {message}"));
                    self.record(status, message);
                }
                Ok(())
            }
            Err(error) => {
                let message = deployment.mask.hide(&error.to_string());
                // What is not known to be gone stays ours, or nobody would ever delete it.
                now.merge(error.survivors);
                status::set_inventory(status, &now);
                Err(Error::PruneFailed(message))
            }
        }
    }

    /// Waits until the objects are ready.
    async fn wait(
        &self,
        status: &mut Status,
        deployment: &Deployment,
        changes: &ChangeSet,
        checks: HealthChecks,
    ) -> Result<(), Error> {
        let objects = health::objects(self.kustomization, changes).map_err(Error::HealthCheckFailed)?;
        if objects.is_empty() {
            status.conditions.remove(HEALTHY);
            return Ok(());
        }
        let was_healthy = status.conditions.is(HEALTHY, Is::True);
        let is_new = status.text("lastAppliedRevision") != self.revision.revision;
        let message = self.stage_message("Running health checks");
        status.conditions.reconciling("Progressing", &message);
        status.conditions.set(HEALTHY, Is::Unknown, "Progressing", &message);
        let began = Instant::now();
        self.request.release_worker();
        let objects = deployment.waiting(objects, checks);
        let waiting = health::wait(self.context, self.request, self.kustomization, objects);
        let waited = self.show(status, waiting).await;
        let took = clock::duration(began.elapsed());
        match waited {
            Ok(()) => {
                let message = format!("Health check passed in {took}");
                if !was_healthy || (is_new && !changes.changed().is_empty()) {
                    self.record(status, message.clone());
                }
                status.conditions.set(HEALTHY, Is::True, "Succeeded", &message);
                Ok(())
            }
            Err(Unhealthy::Failed(message)) => {
                let message = deployment.mask.hide(&message);
                let error = Error::HealthCheckFailed(format!("health check failed after {took}: {message}"));
                status.conditions.set(HEALTHY, Is::False, error.reason(), &message);
                Err(error)
            }
            Err(Unhealthy::Overtaken(trigger)) => Err(Error::HealthCheckCanceled(trigger)),
            Err(Unhealthy::Ending) => Err(Error::ShuttingDown),
        }
    }
}
