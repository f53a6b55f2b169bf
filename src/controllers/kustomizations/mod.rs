//! `Kustomization`: the objects that a source describes, kept in a cluster (kustomize-controller v1.9, Kustomization v1 and v1beta1).
//!
//! ```text
//! source ─▶ dependencies ─▶ artifact ─▶ build ─▶ apply ─▶ prune ─▶ health
//! ```

pub(crate) mod apply;
pub(crate) mod artifact_trees;
pub(crate) mod build;
mod dependencies;
mod deploy;
mod dereference;
mod error;
mod finalize;
mod health;
mod report;
mod status;
mod takeover;
pub(crate) mod target;
pub(crate) mod triggers;
mod validate;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::controllers::context::Context;
use apply::Memories;
use artifact_trees::{FetchError, Requester, Unpacked};
use build::{BuildFailure, Built};
use bumpwright_api::{Kustomization, KustomizationAnnotations, ObjectName};
use bumpwright_diff::SecretMask;
use bumpwright_kube::{Cache, KUSTOMIZATION, Kind};
use bumpwright_runtime::{EventType, NewEvent, Outcome, Reconcile, ReconcileRequest, Status, blocking, clock};
use deploy::Deployment;
use dereference::Source;
use error::Error;
use status::{Revision, Stage};
use target::Target;

/// Reconciles `Kustomization` objects.
#[derive(Debug)]
pub(crate) struct Kustomizations {
    context: Arc<Context>,
    memories: Memories,
}

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
        let (kustomization, annotations) = match validate::read(request.object) {
            Ok(read) => read,
            Err(error) => return error.outcome(Duration::ZERO),
        };
        let mut reconciliation = Reconciliation {
            context: &self.context,
            memories: &self.memories,
            request,
            kustomization: &kustomization,
            annotations,
            began: Instant::now(),
            revision: Revision::default(),
        };
        match reconciliation.run(status).await {
            Ok(outcome) => outcome,
            Err(error) => reconciliation.failed(status, &error),
        }
    }

    /// All events are recorded where they happen.
    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
        status::conclude(status, outcome);
        None
    }

    fn suspend(&self, status: &mut Status) {
        status::settle(status);
    }

    async fn finalize(&self, request: &ReconcileRequest<'_>) -> Result<(), String> {
        let left = finalize::leave(&self.context, request).await;
        if left.is_err() {
            let mut status = Status::of(request.object, request.now);
            status::settle(&mut status);
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

/// One reconciliation of one Kustomization.
struct Reconciliation<'a> {
    context: &'a Arc<Context>,
    memories: &'a Memories,
    request: &'a ReconcileRequest<'a>,
    kustomization: &'a Kustomization,
    annotations: KustomizationAnnotations,
    began: Instant,
    /// Of the source; empty until that is found.
    revision: Revision,
}

impl Reconciliation<'_> {
    /// All steps.
    async fn run(&mut self, status: &mut Status) -> Result<Outcome, Error> {
        let (context, kustomization) = (self.context, self.kustomization);
        let checks = validate::check(kustomization, context.settings.gates)?;
        let source = dereference::source(context, kustomization).await?;
        self.revision = source.revision.clone();
        self.request.set_revision(&source.revision.revision);
        dependencies::check(context, self.request.object, kustomization, &source).await?;
        let files = self.fetch(status, &source).await?;
        let built = self.build(status, files).await;
        let target = target::of(context, kustomization).await;
        let (built, target) = built_for_target(built, target)?;
        self.begin_stage(status, "Detecting drift");
        let before = takeover::inventory(self.request, status, &target.cluster).await;
        let deployment = Deployment {
            digest: built.digest,
            jobs_with_ttl: health::jobs_with_ttl(&built.objects),
            left_out: built.left_out,
            before: before.map_err(Error::ReconciliationFailed)?.unwrap_or_default(),
            target,
            mask: SecretMask::new(built.hidden.objects, built.hidden.texts),
        };
        let objects = apply::desired(built.objects);
        if self.annotations.reports {
            return self.report(status, &deployment, objects).await;
        }
        let deployed = self
            .deploy(status, &deployment, objects, built.reservation, checks)
            .await;
        self.remember(status, &deployment.digest, &deployed);
        deployed?;
        Ok(self.succeeded(&report::left_out(&deployment.left_out)))
    }

    async fn fetch(&self, status: &mut Status, source: &Source) -> Result<Unpacked, Error> {
        self.begin_stage(status, "Fetching manifests");
        let (trees, artifact) = (Arc::clone(&self.context.trees), source.artifact.clone());
        let requester = Requester {
            namespace: self.kustomization.metadata.namespace_or_default().to_owned(),
            timeout: self.kustomization.spec.timeout(),
        };
        let fetching = blocking::ask(move || trees.get(&artifact, &requester));
        match self.show(status, fetching).await {
            Ok(Ok(unpacked)) => Ok(unpacked),
            Ok(Err(FetchError::Absent)) => {
                let what = "Source is not ready, artifact not found";
                Err(dereference::not_ready(self.context, what))
            }
            Err(message) | Ok(Err(FetchError::Failed(message) | FetchError::NoRoom(message))) => {
                Err(Error::ArtifactFailed(message))
            }
        }
    }

    /// Builds. A failure is judged later: some of them come after what is wrong with the target.
    async fn build(&self, status: &mut Status, files: Unpacked) -> Result<Built, BuildFailure> {
        let before = status.conditions.clone();
        self.begin_stage(status, "Building manifests");
        let building = build::build(self.context, self.kustomization, files);
        let built = self.show(status, building).await;
        match &built {
            Err(failure) if failure.is_missing_path => status.conditions = before,
            _ => status::attempt(status, &self.revision),
        }
        for warning in built.iter().flat_map(|built| &built.warnings) {
            self.request.log.info(&format!("warning: {warning}"));
        }
        if let Ok(built) = &built
            && !built.left_out.is_empty()
        {
            let names = report::names_left_out(&built.left_out);
            self.request.warning("ObjectLeftOut", names.trim_start().to_owned());
        }
        built
    }

    /// A stage begins.
    fn begin_stage(&self, status: &mut Status, doing: &str) {
        status::progress(status, &self.stage_message(doing));
    }

    fn stage_message(&self, doing: &str) -> String {
        let timeout = clock::duration(self.kustomization.spec.timeout());
        format!(
            "{doing} for revision {} with a timeout of {timeout}",
            self.revision.revision
        )
    }

    /// Works on a stage. One that takes its time is shown in the cluster; writing each of them would take more requests than an
    /// unchanged Kustomization needs otherwise.
    async fn show<T>(&self, status: &mut Status, work: impl Future<Output = T>) -> T {
        Stage::new(self.request, status).shown(work).await
    }

    /// Takes a deployment of what was built into the history of the status.
    fn remember(&self, status: &mut Status, digest: &str, deployed: &Result<(), Error>) {
        let reason = match deployed {
            Ok(()) => status::SUCCEEDED,
            Err(error) if error.is_in_history() => error.reason(),
            Err(_) => return,
        };
        let took = self.began.elapsed();
        status::remember(status, self.request.now, digest, took, reason, &self.revision);
    }

    /// Everything is applied and ready; `remarks` go below the message.
    fn succeeded(&self, remarks: &str) -> Outcome {
        let interval = self.kustomization.spec.interval();
        status::finished_event(self.request, self.began.elapsed(), interval, &self.revision);
        Outcome::Ready {
            message: format!("Applied revision: {}{remarks}", self.revision.revision),
            news: None,
            trace: String::new(),
            after: Some(interval),
        }
    }

    /// A step failed: that shows in the status, and is worth an event and a line in the log.
    fn failed(&self, status: &mut Status, error: &Error) -> Outcome {
        let outcome = error.outcome(self.kustomization.spec.retry_interval());
        let Some((event_type, message)) = error.event() else {
            return outcome;
        };
        if let (Outcome::RequeueAfter { after, .. }, EventType::Warning) = (&outcome, event_type) {
            let (took, next) = (clock::duration(self.began.elapsed()), clock::duration(*after));
            let log = self.request.log.with("revision", self.revision.revision.clone());
            let text = format!("Reconciliation failed after {took}, next try in {next}");
            log.error(&message, &text);
        }
        self.conclude(status, &outcome, event_type, message);
        outcome
    }

    /// An outcome shows in the status, and is worth an event.
    fn conclude(&self, status: &mut Status, outcome: &Outcome, event_type: EventType, message: String) {
        status::conclude(status, outcome);
        status::event(self.request, status, event_type, message, &self.revision);
    }
}

/// What was built, and the cluster that it is for. A source without the path counts before a cluster that cannot be reached, that
/// before all else that a build says.
fn built_for_target(
    built: Result<Built, BuildFailure>,
    target: Result<Target, String>,
) -> Result<(Built, Target), Error> {
    match (built, target) {
        (Err(failure), _) if failure.is_missing_path => Err(Error::ArtifactFailed(failure.to_string())),
        (_, Err(error)) => Err(Error::NoClient(error)),
        (Err(failure), _) => Err(Error::BuildFailed(failure.to_string())),
        (Ok(built), Ok(target)) => Ok((built, target)),
    }
}
