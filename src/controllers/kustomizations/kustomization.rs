//! `Kustomization`: the objects that a source describes, kept in a cluster (kustomize-controller v1.9, Kustomization v1 and v1beta1).
//!
//! ```text
//! source ─▶ dependencies ─▶ artifact ─▶ build ─▶ apply ─▶ prune ─▶ health
//! ```

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::apply::{self as kustomize_apply, Applying, Memories};
use super::artifact_trees::{Asker, FetchError, Unpacked};
use super::build::{self as kustomize_build, Built};
use super::dependencies::{self as kustomize_dependencies, NotReady};
use super::finalize as kustomize_finalize;
use super::health::{self as kustomize_health, Checked, Unhealthy, Waiting};
use super::report as kustomize_report;
use super::source::{self as kustomize_source, Found, Missing};
use super::status::{self as kustomize_status, HEALTHY, Revision, Stage};
use super::takeover as kustomize_takeover;
use super::target::{self as kustomize_target, Target};
use crate::controllers::context::Context;
use crate::controllers::tokens::{self, GateClosed};
use bumpwright_api::{Is, Kustomization, KustomizationAnnotations, ObjectId, ObjectName};
use bumpwright_apply::{ApplyError, ChangeSet, Desired, Entry, Inventory, Refusals, preview, prune};
use bumpwright_cel::HealthChecks;
use bumpwright_diff::Veil;
use bumpwright_kube::{Cache, KUSTOMIZATION, Kind};
use bumpwright_overlay::{LeftOut, may_lack};
use bumpwright_runtime::{EventType, NewEvent, Outcome, Reconcile, ReconcileRequest, Status, blocking, clock};

/// What begins the messages of faults in the spec itself.
const TERMINAL: &str = "Reconciliation failed terminally due to configuration error";

/// Reconciles `Kustomization` objects.
#[derive(Debug)]
pub(crate) struct Kustomizations {
    context: Arc<Context>,
    memories: Memories,
}

/// What a step leads to when it is not the next one.
type Step<T> = Result<T, Outcome>;

impl Kustomizations {
    /// `objects`: those that are watched.
    pub(crate) fn new(context: Arc<Context>, objects: &Cache) -> Self {
        Self {
            context,
            memories: Memories::forgetting(objects),
        }
    }
}

impl Reconcile for Kustomizations {
    const KIND: &'static Kind = &KUSTOMIZATION;
    const CONTROLLER: &'static str = "kustomize-controller";
    /// Not the manager of the objects that are applied: a Kustomization may be one of them.
    const MANAGER: &'static str = "gotk-kustomize-controller";

    /// What is done shows with its first stage.
    fn begin(&self, _status: &mut Status) -> bool {
        false
    }

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        let kustomization: Kustomization = match request.object.read(&KUSTOMIZATION) {
            Ok(kustomization) => kustomization,
            Err(error) => return Outcome::stalled("InvalidSpec", &error),
        };
        let annotations = match KustomizationAnnotations::read(&request.object.annotations) {
            Ok(annotations) => annotations,
            Err(error) => return Outcome::stalled("InvalidAnnotation", &error),
        };
        let reconciling = Reconciling {
            all: self,
            request,
            kustomization: &kustomization,
            annotations,
            began: Instant::now(),
        };
        match reconciling.run(status).await {
            Ok((revision, remarks)) => {
                let interval = kustomization.spec.interval();
                kustomize_status::finished_event(request, reconciling.began.elapsed(), interval, &revision);
                Outcome::Ready {
                    message: format!("Applied revision: {}{remarks}", revision.revision),
                    news: None,
                    trace: String::new(),
                    after: Some(interval),
                }
            }
            Err(outcome) => outcome,
        }
    }

    /// All news are told where they happen.
    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
        kustomize_status::conclude(status, outcome);
        None
    }

    fn suspend(&self, status: &mut Status) {
        kustomize_status::settle(status);
    }

    async fn finalize(&self, request: &ReconcileRequest<'_>) -> Result<(), String> {
        let left = kustomize_finalize::leave(&self.context, request).await;
        if left.is_err() {
            let mut status = Status::of(request.object, request.now);
            kustomize_status::settle(&mut status);
            request.try_write_status(&mut status).await;
        }
        left
    }
    async fn finished(&self, name: &ObjectName) {
        self.context.measure_mirrors(Self::KIND.kind, name).await;
    }

    async fn forgotten(&self, name: &ObjectName) {
        self.context.forget_mirrors(Self::KIND.kind, name).await;
    }
}

/// What is being applied. The objects themselves are not kept: they are many, and waits are long.
struct Work {
    /// Of what was built.
    digest: String,
    /// The Jobs among the objects that are deleted some time after they ended.
    jobs_with_ttl: Vec<ObjectId>,
    /// What was an object before its variables were replaced.
    left_out: Vec<LeftOut>,
    target: Target,
    revision: Revision,
    /// What was applied before.
    before: Inventory,
    /// What is told of no object.
    veil: Veil,
}

impl Work {
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

/// One reconciliation of one Kustomization.
struct Reconciling<'a> {
    all: &'a Kustomizations,
    request: &'a ReconcileRequest<'a>,
    kustomization: &'a Kustomization,
    annotations: KustomizationAnnotations,
    began: Instant,
}

impl Reconciling<'_> {
    fn context(&self) -> &Arc<Context> {
        &self.all.context
    }

    /// All steps. Gives the revision that was applied, and what else there is to say.
    async fn run(&self, status: &mut Status) -> Step<(Revision, String)> {
        let checks = self.checks(status)?;
        self.gates(status)?;
        let found = self.source(status).await?;
        self.dependencies(status, &found).await?;
        let revision = &found.revision;
        let unpacked = self.fetched(status, &found).await?;
        let built = self.built(status, unpacked, revision).await;
        let target = kustomize_target::of(self.context(), self.kustomization).await;
        let (built, target) = self.sorted_out(status, built, target, revision)?;
        let work = Work {
            digest: built.digest,
            jobs_with_ttl: kustomize_health::jobs_with_ttl(&built.objects),
            left_out: built.left_out,
            before: self.inventory(status, &target, revision).await?,
            target,
            revision: revision.clone(),
            veil: Veil::over(built.hidden.objects, built.hidden.texts),
        };
        let room = built.room;
        let objects = kustomize_apply::desired(built.objects);
        if self.annotations.reports {
            return Err(self.reported(status, &work, objects).await);
        }
        let changes = self.applied(status, &work, objects).await?;
        // Waits are long, and the objects are gone.
        drop(room);
        self.pruned(status, &work).await?;
        kustomize_takeover::is_done(status);
        self.healthy(status, &work, &changes, checks).await?;
        kustomize_status::applied(status, revision);
        self.remember(status, &work, "ReconciliationSucceeded");
        let remarks = kustomize_report::left_out(&work.left_out);
        Ok((work.revision, remarks))
    }

    /// The health checks, compiled.
    fn checks(&self, status: &mut Status) -> Step<HealthChecks> {
        kustomize_health::checks(&self.kustomization.spec).map_err(|error| {
            self.stalled(
                status,
                "InvalidCELExpression",
                format!("{TERMINAL}: {error}"),
                &Revision::default(),
            )
        })
    }

    /// What the settings of ours do not allow.
    fn gates(&self, status: &mut Status) -> Step<()> {
        let decryption = self.kustomization.spec.decryption.as_ref();
        let given = decryption.and_then(|decryption| decryption.service_account_name.as_deref());
        let gates = self.context().settings.gates;
        let open = tokens::check_gate(gates, given.unwrap_or_default(), "spec.decryption.serviceAccountName");
        open.map_err(|closed| {
            let message = closed.for_decryption().to_string();
            self.stalled(status, GateClosed::REASON, message, &Revision::default())
        })
    }

    async fn source(&self, status: &mut Status) -> Step<Found> {
        match kustomize_source::find(self.context(), self.kustomization).await {
            Ok(found) => {
                self.request.set_revision(&found.revision.revision);
                Ok(found)
            }
            Err(Missing::Later(outcome)) => Err(outcome),
            Err(Missing::Denied(message)) => Err(self.stalled(status, "AccessDenied", message, &Revision::default())),
        }
    }

    async fn dependencies(&self, status: &mut Status, found: &Found) -> Step<()> {
        let checked =
            kustomize_dependencies::check(self.context(), self.request.object, self.kustomization, found).await;
        match checked {
            Ok(()) => Ok(()),
            Err(NotReady::Invalid(error)) => Err(self.stalled(
                status,
                "InvalidCELExpression",
                format!("{TERMINAL}: terminal error: {error}"),
                &found.revision,
            )),
            Err(NotReady::Denied(message)) => Err(self.stalled(status, "AccessDenied", message, &found.revision)),
            Err(NotReady::Later(message)) => {
                let after = self.context().settings.requeue_dependency;
                let outcome = Outcome::RequeueAfter {
                    reason: "DependencyNotReady",
                    message,
                    after,
                };
                let after = clock::duration(after);
                let told = format!("Dependencies do not meet ready condition, retrying in {after}");
                Err(self.concluded(status, outcome, EventType::Normal, told, &found.revision))
            }
        }
    }

    async fn fetched(&self, status: &mut Status, found: &Found) -> Step<Unpacked> {
        self.stage(status, "Fetching manifests", &found.revision);
        let (trees, artifact) = (Arc::clone(&self.context().trees), found.artifact.clone());
        let asker = Asker {
            namespace: self.kustomization.metadata.namespace_or_default().to_owned(),
            patience: self.kustomization.spec.timeout(),
        };
        let fetching = blocking::ask(move || trees.get(&artifact, &asker));
        let fetched = self.shown(status, fetching).await;
        match fetched.unwrap_or_else(|error| Err(FetchError::Failed(error))) {
            Ok(unpacked) => Ok(unpacked),
            Err(FetchError::Absent) => Err(kustomize_source::later(
                self.context(),
                "Source is not ready, artifact not found",
            )),
            Err(FetchError::Failed(message) | FetchError::NoRoom(message)) => {
                Err(self.failed(status, "ArtifactFailed", message, &found.revision))
            }
        }
    }

    /// Builds. What goes wrong is judged later: some of it comes after what is wrong with the target.
    async fn built(
        &self,
        status: &mut Status,
        unpacked: Unpacked,
        revision: &Revision,
    ) -> Result<Built, kustomize_build::BuildFailure> {
        let before = status.conditions.clone();
        self.stage(status, "Building manifests", revision);
        let building = kustomize_build::build(self.context(), self.kustomization, unpacked);
        let built = self.shown(status, building).await;
        match &built {
            Err(failure) if failure.is_missing_path => status.conditions = before,
            _ => kustomize_status::attempt(status, revision),
        }
        for warning in built.iter().flat_map(|built| &built.warnings) {
            self.request.log.info(&format!("warning: {warning}"));
        }
        if let Ok(built) = &built
            && !built.left_out.is_empty()
        {
            let names = kustomize_report::names_left_out(&built.left_out);
            self.request.warning("ObjectLeftOut", names.trim_start().to_owned());
        }
        built
    }

    fn sorted_out(
        &self,
        status: &mut Status,
        built: Result<Built, kustomize_build::BuildFailure>,
        target: Result<Target, String>,
        revision: &Revision,
    ) -> Step<(Built, Target)> {
        let (built, target) = match (built, target) {
            (Err(failure), _) if failure.is_missing_path => {
                return Err(self.failed(status, "ArtifactFailed", failure.to_string(), revision));
            }
            (_, Err(error)) => {
                let told = format!("failed to build kube client: {error}");
                return Err(self.failed_telling(status, "ReconciliationFailed", error, told, revision));
            }
            (Err(failure), _) => return Err(self.failed(status, "BuildFailed", failure.to_string(), revision)),
            (Ok(built), Ok(target)) => (built, target),
        };
        self.stage(status, "Detecting drift", revision);
        Ok((built, target))
    }

    /// What was applied before. Nothing is pruned by an inventory that nobody can read.
    async fn inventory(&self, status: &mut Status, target: &Target, revision: &Revision) -> Step<Inventory> {
        match kustomize_takeover::inventory(self.request, status, &target.cluster).await {
            Ok(inventory) => Ok(inventory.unwrap_or_default()),
            Err(error) => Err(self.failed(status, "ReconciliationFailed", error, revision)),
        }
    }

    async fn applied(&self, status: &mut Status, work: &Work, objects: Vec<Desired>) -> Step<ChangeSet> {
        let applying = Applying {
            context: self.context(),
            request: self.request,
            kustomization: self.kustomization,
            target: &work.target,
            veil: &work.veil,
        };
        let memory = self.all.memories.of(&self.request.object.name);
        let applied = applying.apply(status, objects, &memory, &work.before).await;
        match applied {
            Ok(changes) => {
                let changed = changes.changed();
                if !changed.is_empty() {
                    let message = changed.to_string();
                    kustomize_status::event(self.request, status, EventType::Normal, message, &work.revision);
                }
                kustomize_status::set_inventory(status, &Inventory::of_changes(&changes));
                Ok(changes)
            }
            Err(message) => {
                self.remember(status, work, "ReconciliationFailed");
                Err(self.failed(status, "ReconciliationFailed", message, &work.revision))
            }
        }
    }

    /// Says what differs. Nothing is applied, and nothing pruned.
    async fn reported(&self, status: &mut Status, work: &Work, objects: Vec<Desired>) -> Outcome {
        let revision = &work.revision;
        let mut settings = kustomize_apply::settings(self.context(), self.kustomization);
        settings.veil = work.veil.clone();
        let prunes = self.kustomization.spec.prune;
        let before = work.deletable();
        let looking = preview(&work.target.cluster, objects, &settings, &before, prunes);
        let seen = match self.shown(status, looking).await {
            Ok(seen) if seen.refused.is_empty() => seen,
            Ok(seen) => {
                let message = ApplyError::from(Refusals(seen.refused)).to_string();
                return self.failed(status, "ReconciliationFailed", message, revision);
            }
            Err(error) => {
                let message = work.veil.hide(&error.to_string());
                return self.failed(status, "ReconciliationFailed", message, revision);
            }
        };
        let after = self.kustomization.spec.interval();
        if seen.differences.is_empty() {
            return Outcome::Ready {
                message: kustomize_report::none(&revision.revision),
                news: None,
                trace: String::new(),
                after: Some(after),
            };
        }
        let message = kustomize_report::drift(&seen, &revision.revision);
        let outcome = Outcome::RequeueAfter {
            reason: "DriftDetected",
            message: message.clone(),
            after,
        };
        self.concluded(status, outcome, EventType::Warning, message, revision)
    }

    async fn pruned(&self, status: &mut Status, work: &Work) -> Step<()> {
        let mut now = kustomize_status::inventory(status).ok().flatten().unwrap_or_default();
        let stale = work.before.without(&now);
        let (held, stale): (Vec<_>, Vec<_>) = stale.into_iter().partition(|entry| work.may_lack(entry));
        if now.merge(held) {
            kustomize_status::set_inventory(status, &now);
        }
        if !self.kustomization.spec.prune || stale.is_empty() {
            return Ok(());
        }
        let (stale_objects, before) = (stale.len(), work.before.entries.len());
        let revision = &work.revision.revision;
        if let Some(message) = self.annotations.refuses_prune(stale_objects, before, revision) {
            now.merge(stale);
            kustomize_status::set_inventory(status, &now);
            self.remember(status, work, "PruneRefused");
            return Err(self.failed(status, "PruneRefused", message, &work.revision));
        }
        // Until they are gone they are ours: the status may be written meanwhile, and this process may end.
        let mut known = now.clone();
        known.merge(stale.iter().cloned());
        kustomize_status::set_inventory(status, &known);
        let settings = kustomize_apply::settings(self.context(), self.kustomization);
        let deleting = prune(&work.target.cluster, stale, &settings);
        match self.shown(status, deleting).await {
            Ok(changes) => {
                kustomize_status::set_inventory(status, &now);
                if !changes.is_empty() {
                    let message = changes.to_string();
                    self.request
                        .log
                        .info(&format!("garbage collection completed: {message}"));
                    kustomize_status::event(self.request, status, EventType::Normal, message, &work.revision);
                }
                Ok(())
            }
            Err(error) => {
                let message = work.veil.hide(&error.to_string());
                // What is not known to be gone stays ours, or nobody would ever delete it.
                now.merge(error.survivors);
                kustomize_status::set_inventory(status, &now);
                self.remember(status, work, "PruneFailed");
                Err(self.failed(status, "PruneFailed", message, &work.revision))
            }
        }
    }

    async fn healthy(&self, status: &mut Status, work: &Work, changes: &ChangeSet, checks: HealthChecks) -> Step<()> {
        let revision = &work.revision;
        let objects = kustomize_health::objects(self.kustomization, changes).map_err(|message| {
            self.remember(status, work, "HealthCheckFailed");
            self.failed(status, "HealthCheckFailed", message, revision)
        })?;
        if objects.is_empty() {
            status.conditions.remove(HEALTHY);
            return Ok(());
        }
        let was_healthy = status.conditions.is(HEALTHY, Is::True);
        let is_new = status.text("lastAppliedRevision") != revision.revision;
        let message = self.stage_message("Running health checks", revision);
        status.conditions.reconciling("Progressing", &message);
        status.conditions.set(HEALTHY, Is::Unknown, "Progressing", &message);
        let began = Instant::now();
        self.request.release_worker();
        let waiting = kustomize_health::wait(
            self.context(),
            self.request,
            self.kustomization,
            work.waiting(objects, checks),
        );
        let waited = self.shown(status, waiting).await;
        let took = clock::duration(began.elapsed());
        match waited {
            Ok(()) => {
                let message = format!("Health check passed in {took}");
                if !was_healthy || (is_new && !changes.changed().is_empty()) {
                    kustomize_status::event(self.request, status, EventType::Normal, message.clone(), revision);
                }
                status.conditions.set(HEALTHY, Is::True, "Succeeded", &message);
                Ok(())
            }
            Err(Unhealthy::Failed(message)) => {
                let message = work.veil.hide(&message);
                status.conditions.set(HEALTHY, Is::False, "HealthCheckFailed", &message);
                self.remember(status, work, "HealthCheckFailed");
                let told = format!("health check failed after {took}: {message}");
                Err(self.failed(status, "HealthCheckFailed", told, revision))
            }
            Err(Unhealthy::Overtaken(trigger)) => {
                let outcome = Outcome::RequeueAfter {
                    reason: "HealthCheckCanceled",
                    message: format!("New reconciliation triggered by {trigger}"),
                    after: std::time::Duration::ZERO,
                };
                let told = format!("Health checks canceled due to new reconciliation triggered by {trigger}");
                Err(self.concluded(status, outcome, EventType::Normal, told, revision))
            }
            Err(Unhealthy::Ending) => Err(Outcome::RequeueAfter {
                reason: "Progressing",
                message: "the controller ends; health checks go on with the next one".to_owned(),
                after: self.kustomization.spec.retry_interval(),
            }),
        }
    }

    fn stage_message(&self, doing: &str, revision: &Revision) -> String {
        let timeout = clock::duration(self.kustomization.spec.timeout());
        format!("{doing} for revision {} with a timeout of {timeout}", revision.revision)
    }

    /// A stage begins.
    fn stage(&self, status: &mut Status, doing: &str, revision: &Revision) {
        kustomize_status::progress(status, &self.stage_message(doing, revision));
    }

    /// Works on a stage. One that takes its time is shown in the cluster; writing each of them would take more requests than an
    /// unchanged Kustomization needs otherwise.
    async fn shown<T>(&self, status: &mut Status, work: impl Future<Output = T>) -> T {
        Stage::new(self.request, status).shown(work).await
    }

    fn remember(&self, status: &mut Status, work: &Work, reason: &str) {
        let (took, digest) = (self.began.elapsed(), &work.digest);
        kustomize_status::remember(status, self.request.now, digest, took, reason, &work.revision);
    }

    /// Someone has to change something first.
    fn stalled(&self, status: &mut Status, reason: &'static str, message: String, revision: &Revision) -> Outcome {
        let outcome = Outcome::Stalled {
            reason,
            message: message.clone(),
        };
        self.concluded(status, outcome, EventType::Warning, message, revision)
    }

    fn failed(&self, status: &mut Status, reason: &'static str, message: String, revision: &Revision) -> Outcome {
        let told = message.clone();
        self.failed_telling(status, reason, message, told, revision)
    }

    /// It is tried again after the retry interval.
    fn failed_telling(
        &self,
        status: &mut Status,
        reason: &'static str,
        message: String,
        told: String,
        revision: &Revision,
    ) -> Outcome {
        let after = self.kustomization.spec.retry_interval();
        let outcome = Outcome::RequeueAfter { reason, message, after };
        let (took, next) = (clock::duration(self.began.elapsed()), clock::duration(after));
        self.request
            .log
            .with("revision", Value::String(revision.revision.clone()))
            .error(
                &told,
                &format!("Reconciliation failed after {took}, next try in {next}"),
            );
        self.concluded(status, outcome, EventType::Warning, told, revision)
    }

    /// What the reconciliation comes to shows in the status, and is told of.
    fn concluded(
        &self,
        status: &mut Status,
        outcome: Outcome,
        event_type: EventType,
        told: String,
        revision: &Revision,
    ) -> Outcome {
        kustomize_status::conclude(status, &outcome);
        kustomize_status::event(self.request, status, event_type, told, revision);
        outcome
    }
}
