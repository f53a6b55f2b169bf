//! `Kustomization`: the objects that a source describes, kept in a cluster (kustomize-controller v1.9,
//! Kustomization v1 and v1beta1).
//!
//! ```text
//! source ─▶ dependencies ─▶ artifact ─▶ build ─▶ apply ─▶ prune ─▶ health
//! ```

pub(crate) mod apply;
pub(crate) mod cluster;
mod context;
mod dependencies;
mod deploy;
mod dereference;
mod error;
mod finalize;
mod grace;
pub(crate) mod health;
pub(crate) mod memories;
pub(crate) mod render;
mod report;
mod status;
mod takeover;
pub(crate) mod triggers;
mod validate;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::artifact_trees::{self, FetchError, Unpacked};
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::registered::Registered;
use crate::parts::watching::{Caches, Watch};
use crate::settings::{Kinds, Settings};
use bumpwright_api::{Conditions, Kustomization, KustomizationAnnotations, ObjectName, READY, Reason};
use bumpwright_apply::Inventory;
use bumpwright_diff::SecretMask;
use bumpwright_kube::{
    BUCKET, CONFIG_MAP, EXTERNAL_ARTIFACT, GIT_REPOSITORY, KUSTOMIZATION, Kind, OCI_REPOSITORY, Object, SECRET,
};
use bumpwright_runtime::{
    Action, EventType, FinalizeError, NewEvent, Outcome, Queue, Reconcile, ReconcileRequest, Status, clock,
};
use cluster::{Target, TargetError};
use context::KustomizationsContext;
use deploy::Deployment;
use dereference::Source;
use error::Error;
use memories::Memories;
use render::{BuildFailure, Built};
use status::Progress;

#[derive(Debug)]
pub(crate) struct Kustomizations {
    context: Arc<KustomizationsContext>,
    memories: Memories,
}

const SOURCES: [&Kind; 4] = [&GIT_REPOSITORY, &OCI_REPOSITORY, &BUCKET, &EXTERNAL_ARTIFACT];

/// Kinds whose changes trigger a reconciliation.
const CONFIGS: [&Kind; 2] = [&CONFIG_MAP, &SECRET];

impl Registered for Kustomizations {
    fn is_enabled(kinds: Kinds) -> bool {
        kinds.kustomize
    }

    fn watches(settings: &Settings) -> Vec<Watch> {
        let is_wanted = |kind: &&Kind| **kind != EXTERNAL_ARTIFACT || settings.gates.external_artifact;
        let sources = SOURCES.into_iter().filter(is_wanted).map(Watch::all);
        let configs = CONFIGS.into_iter().filter(|_| !settings.gates.no_config_watchers);
        sources
            .chain([Watch::ours(Self::KIND)])
            .chain(configs.map(Watch::configs))
            .collect()
    }

    fn triggers(caches: &Caches, queue: &Arc<Queue>) {
        let kustomizations = caches.of(Watch::ours(Self::KIND));
        let referring = triggers::referring(&kustomizations);
        triggers::own(&kustomizations, &referring, queue);
        for kind in SOURCES {
            triggers::of_source(&caches.of(Watch::all(kind)), &referring, queue);
        }
        for kind in CONFIGS {
            triggers::of_config(&caches.of(Watch::configs(kind)), &referring, queue);
        }
    }

    fn reconciler(parts: &Parts) -> Option<Self> {
        Some(Self {
            context: KustomizationsContext::of(parts),
            memories: Memories::forgetting(
                &parts.caches.of(Watch::ours(Self::KIND)),
                &parts.shared.settings.storage,
            ),
        })
    }
}

impl Reconcile for Kustomizations {
    const KIND: &'static Kind = &KUSTOMIZATION;
    const CONTROLLER: &'static str = "kustomize-controller";
    /// Differs from the manager of applied objects: a Kustomization may be one of them.
    const MANAGER: &'static str = "gotk-kustomize-controller";
    /// Those of one moment share lists of the objects in a namespace, of which the server reads all for each of them.
    const TOGETHER: Option<u32> = Some(20);

    fn postponed(&self, object: &Object) -> Option<Duration> {
        dereference::postponed(&self.context, object)
    }

    /// Conditions change with the first stage.
    fn begin(&self, _status: &mut Status) -> bool {
        false
    }

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        let (kustomization, annotations) = match validate::read(request.object) {
            Ok(read) => read,
            Err(error) => return error.outcome(Duration::ZERO),
        };
        let mut reconciliation = Reconciliation {
            context: &self.context,
            shared: &self.context.shared,
            memories: &self.memories,
            request,
            kustomization: &kustomization,
            annotations,
            began: Instant::now(),
            resting: resting(request, status),
            progress: Progress::new(request, kustomization.spec.timeout(), status),
        };
        match reconciliation.run().await {
            Ok(outcome) => outcome,
            Err(error) => match reconciliation.within_grace(&error) {
                Some(outcome) => outcome,
                None => reconciliation.failed(&error),
            },
        }
    }

    /// All events are recorded where they occur.
    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
        status::conclude(status, outcome);
        None
    }

    fn suspend(&self, status: &mut Status) {
        status::settle(status);
    }

    async fn finalize(&self, request: &ReconcileRequest<'_>) -> Result<(), FinalizeError> {
        let left = finalize::leave(&self.context, request).await;
        if left.is_err() {
            let mut status = Status::of(request.object, request.now);
            status::settle(&mut status);
            request.try_write_status(&mut status).await;
        }
        Ok(left?)
    }

    async fn finished(&self, name: &ObjectName) {
        self.context.mirrors.measure(Self::KIND.kind, name).await;
    }

    async fn forgotten(&self, name: &ObjectName) {
        self.context.grace.end(name);
        self.context.mirrors.forget(Self::KIND.kind, name).await;
    }

    async fn moved(&self, object: &Object) {
        self.memories.drop_of(&object.name);
        self.forgotten(&object.name).await;
    }
}

/// One reconciliation of one Kustomization.
struct Reconciliation<'a> {
    context: &'a Arc<KustomizationsContext>,
    shared: &'a Context,
    memories: &'a Memories,
    request: &'a ReconcileRequest<'a>,
    kustomization: &'a Kustomization,
    annotations: KustomizationAnnotations,
    began: Instant,
    /// The conditions at the beginning, if nothing is open.
    resting: Option<Conditions>,
    progress: Progress<'a>,
}

/// The conditions of a Kustomization that is ready by its newest spec, and that nobody has asked to be reconciled.
fn resting(request: &ReconcileRequest<'_>, status: &Status) -> Option<Conditions> {
    let observed = request
        .object
        .status()
        .get("observedGeneration")
        .and_then(serde_json::Value::as_i64);
    let is_observed = observed == Some(request.object.generation);
    let ready = status.conditions.get(READY).filter(|_| status.conditions.ready())?;
    let is_applied = ready.reason == Reason::ReconciliationSucceeded.as_str();
    (is_observed && is_applied && !status.is_requested()).then(|| status.conditions.clone())
}

impl Reconciliation<'_> {
    async fn run(&mut self) -> Result<Outcome, Error> {
        let (context, shared, kustomization) = (self.context, self.shared, self.kustomization);
        let checks = health::checks(&kustomization.spec);
        let checks = checks.map_err(|error| Error::InvalidCelExpression(error.to_string()))?;
        let source = dereference::source(context, kustomization).await?;
        self.progress.set_revision(&source.revision);
        self.request.set_revision(&source.revision.revision);
        self.request.relate(&source.object, source.kind);
        dependencies::check(shared, self.request.object, kustomization, &source).await?;
        let files = self.fetch(&source).await?;
        context.grace.end(&self.request.object.name);
        let built = self.build(files).await;
        let target = cluster::of(shared, kustomization).await;
        let (built, target) = built_for_target(built, target)?;
        self.progress.begin("Detecting drift");
        let before = self.applied_before(&target).await?;
        let deployment = Deployment {
            digest: built.digest,
            jobs_with_ttl: health::jobs_with_ttl(&built.objects),
            left_out: built.left_out,
            before,
            target,
            mask: SecretMask::new(built.hidden.objects, built.hidden.texts),
        };
        let objects = apply::desired(built.objects);
        if self.annotations.reports {
            return self.report(&deployment, objects).await;
        }
        let deployed = self.deploy(&deployment, objects, built.reservation, checks).await;
        self.remember(&deployment.digest, &deployed);
        deployed?;
        Ok(self.succeeded(&report::left_out(&deployment.left_out)))
    }

    async fn fetch(&mut self, source: &Source) -> Result<Unpacked, Error> {
        self.progress.begin("Fetching manifests");
        let (context, tried) = (Arc::clone(self.context), source.clone());
        let is_replaced = move || dereference::is_replaced(&context, &tried);
        let fetching = artifact_trees::fetch(&self.context.trees, self.kustomization, &source.artifact, is_replaced);
        let fetched = self.progress.shown(fetching).await;
        if let Err(error) = &fetched {
            // A report of an artifact of the same revision from now on must not count on this reconciliation.
            self.request.unset_revision();
            if dereference::is_replaced(self.context, source) {
                self.request.again();
                self.request
                    .log
                    .with("error", error.to_string())
                    .info("artifact replaced");
                return Err(dereference::not_ready(
                    self.shared,
                    "Source is not ready, artifact replaced",
                ));
            }
        }
        fetched.map_err(|error| match error {
            FetchError::Absent => dereference::not_ready(self.shared, "Source is not ready, artifact not found"),
            FetchError::Changed(message) => {
                self.request.log.with("error", message).info("artifact digest changed");
                dereference::not_ready(self.shared, "Source is not ready, artifact digest changed")
            }
            FetchError::Failed(message) => Error::Unfetched {
                message,
                after: self.shared.settings.requeue_dependency,
            },
            FetchError::NoRoom(message) => Error::ArtifactFailed(message),
        })
    }

    /// Builds. A failure is evaluated later, since some errors of the target take precedence.
    async fn build(&mut self, files: Unpacked) -> Result<Built, BuildFailure> {
        let before = self.progress.conditions();
        self.progress.begin("Building manifests");
        let building = render::build(self.context, self.kustomization, files);
        let built = self.progress.shown(building).await;
        match &built {
            Err(failure) if failure.is_missing_path() => self.progress.restore(before),
            _ => self.progress.attempted(),
        }
        for warning in built.iter().flat_map(|built| &built.warnings) {
            self.request.log.info(&format!("warning: {warning}"));
        }
        if let Ok(built) = &built
            && !built.left_out.is_empty()
        {
            let names = report::names_left_out(&built.left_out);
            self.request
                .warning(Action::Apply, Reason::ObjectLeftOut, names.trim_start().to_owned());
        }
        built
    }

    async fn applied_before(&mut self, target: &Target) -> Result<Inventory, Error> {
        let before = self.progress.before();
        let before = before.map_err(|error| Error::ReconciliationFailed(error.to_string()))?;
        let before = takeover::inventory(self.request, before, &target.cluster).await;
        before.map_err(|error| Error::ReconciliationFailed(error.to_string()))
    }

    /// Adds a build to the history of the status.
    fn remember(&mut self, digest: &str, deployed: &Result<(), Error>) {
        let reason = match deployed {
            Ok(()) => Reason::ReconciliationSucceeded,
            Err(error) if error.is_in_history() => error.reason(),
            Err(_) => return,
        };
        self.progress.remember(digest, self.began.elapsed(), reason);
    }

    /// Everything is applied and ready; `remarks` follow the message.
    fn succeeded(&self, remarks: &str) -> Outcome {
        let (interval, revision) = (self.kustomization.spec.interval(), self.progress.revision());
        if !self.shared.settings.gates.no_commit_status_event {
            status::finished_event(self.request, self.began.elapsed(), interval, revision);
        }
        Outcome::Ready {
            message: format!("Applied revision: {}{remarks}", revision.revision),
            news: None,
            trace: String::new(),
            after: Some(interval),
        }
    }

    /// The outcome for a Kustomization that stays as it is, since its artifact is out of reach for a moment only.
    fn within_grace(&mut self, error: &Error) -> Option<Outcome> {
        let resting = self.resting.take().filter(|_| error.is_about_reach())?;
        let (grace, name) = (self.shared.settings.requeue_dependency, &self.request.object.name);
        let pause = self.context.grace.pause(name, grace, Instant::now())?;
        let message = resting.get(READY)?.message.clone();
        self.request.log.info(&format!("ready as before, though {error}"));
        self.progress.restore(resting);
        Some(Outcome::Ready {
            message,
            news: None,
            trace: String::new(),
            after: Some(pause),
        })
    }

    /// The outcome of a failed step. Most failures get an event and a log line.
    fn failed(&self, error: &Error) -> Outcome {
        let outcome = error.outcome(self.kustomization.spec.retry_interval());
        let Some((event_type, message)) = error.event() else {
            return outcome;
        };
        let revision = self.progress.revision();
        if let (Outcome::RequeueAfter { after, .. }, EventType::Warning) = (&outcome, event_type) {
            let (took, next) = (clock::duration(self.began.elapsed()), clock::duration(*after));
            let log = self.request.log.with("revision", revision.revision.clone());
            let text = format!("Reconciliation failed after {took}, next try in {next}");
            log.error(&message, &text);
        }
        status::event(
            self.request,
            (error.action(), event_type),
            error.reason(),
            message,
            revision,
        );
        outcome
    }
}

/// The build and its target cluster. A missing path takes precedence over an unreachable cluster, and that over
/// all other build errors.
fn built_for_target(
    built: Result<Built, BuildFailure>,
    target: Result<Target, TargetError>,
) -> Result<(Built, Target), Error> {
    match (built, target) {
        (Err(failure), _) if failure.is_missing_path() => Err(Error::ArtifactFailed(failure.to_string())),
        (_, Err(error)) => Err(Error::NoClient(error)),
        (Err(failure), _) => Err(Error::BuildFailed(failure.to_string())),
        (Ok(built), Ok(target)) => Ok((built, target)),
    }
}
