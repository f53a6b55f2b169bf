//! `ImageUpdateAutomation`: runs when policies, its repository or its spec say so (image-automation-controller v1.2;
//! IUA v1, IUA-*; docs/behaviour/image-automation-controller.md, *Status* and *Reasons and messages*).

mod context;
mod dereference;
mod dry_runs;
mod error;
mod fetch;
mod job;
mod others;
mod preview;
mod release_notes;
mod rollout;
mod rules;
mod skips;
mod status;
mod validate;
mod verify;
mod windows;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::triggers;
use crate::parts::Parts;
use crate::parts::registered::Registered;
use crate::parts::watching::{Caches, Watch};
use crate::request_metrics;
use crate::settings::{Kinds, Settings};
use bumpwright_api::{AutomationAnnotations, GitRepository, ImageUpdateAutomation, ObjectName, Objects};
use bumpwright_http::Job;
use bumpwright_kube::{
    Cache, GIT_REPOSITORY, HELM_RELEASE, IMAGE_POLICY, IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind,
};
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_runtime::triggers::own;
use bumpwright_runtime::{Outcome, Queue, Reconcile, ReconcileRequest, Status, blocking};
use bumpwright_update::{Place, Policies, RemoteJob, Run, run_remote};
use context::AutomationContext;
use error::Error;
use fetch::Fetched;
use rollout::{Following, Ran};
use validate::{Valid, validate};

#[derive(Debug)]
pub(crate) struct ImageUpdateAutomations(Arc<AutomationContext>);

/// The timeout of a GitRepository that has none.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The time limit of a run with all attempts to push, in timeouts of its GitRepository.
const CONVERSATIONS: u32 = 10;

impl Reconcile for ImageUpdateAutomations {
    const KIND: &'static Kind = &IMAGE_UPDATE_AUTOMATION;
    const CONTROLLER: &'static str = "image-automation-controller";

    /// A run before the policies are listed would find none.
    fn needs(&self) -> Vec<&Cache> {
        vec![&self.0.policies]
    }

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        let valid = validate(request.object);
        if let Ok(valid) = &valid
            && let Some(outcome) = windows::closed(&self.0, valid, request, status)
        {
            return outcome;
        }
        status::begin(status, request.now);
        let run = match valid {
            Ok(valid) => self.run(request, valid, status).await,
            Err(error) => Err(error),
        };
        match run {
            Ok(finished) => {
                windows::come_back(request, &finished);
                self.0.keep_fields(&finished.automation, &finished.run);
                match &finished.run.outside {
                    _ if finished.dry_run => preview::outcome(&finished.automation, &finished.run),
                    Some(closed) => windows::outcome(closed, &finished.observed, status),
                    None => status::ready(status, finished, request.now),
                }
            }
            Err(error) => error.into(),
        }
    }

    async fn finished(&self, name: &ObjectName) {
        self.0.mirrors.measure(Self::KIND.kind, name).await;
    }

    async fn forgotten(&self, name: &ObjectName) {
        self.0.readers.forget(name);
        self.0.fields.iter().for_each(|fields| fields.forget(name));
        self.0.mirrors.forget(Self::KIND.kind, name).await;
    }
}

/// A run that ended well.
struct FinishedRun {
    automation: Arc<ImageUpdateAutomation>,
    run: Run,
    /// `status.observedPolicies`
    observed: Value,
    dry_run: bool,
    /// When to look again how far a rollout is.
    again: Option<Duration>,
}

impl Registered for ImageUpdateAutomations {
    fn is_enabled(kinds: Kinds) -> bool {
        kinds.automation
    }

    fn watches(_settings: &Settings) -> Vec<Watch> {
        vec![
            Watch::ours_or_all(&IMAGE_POLICY),
            Watch::ours(Self::KIND),
            Watch::all(&GIT_REPOSITORY),
            Watch::when_needed(&KUSTOMIZATION),
            Watch::when_needed(&HELM_RELEASE),
        ]
    }

    fn triggers(caches: &Caches, queue: &Arc<Queue>) {
        let automations = caches.of(Watch::ours(Self::KIND));
        own(&automations, queue);
        let policies = caches.of(Watch::ours_or_all(&IMAGE_POLICY));
        triggers::automations_of_policy(&policies, &automations, &caches.readers, queue);
        let sources = caches.of(Watch::all(&GIT_REPOSITORY));
        triggers::automations_of_source(&sources, &automations, queue);
        triggers::rollouts_of_source(&sources, &automations, queue);
        let kustomizations = caches.of(Watch::when_needed(&KUSTOMIZATION));
        triggers::automations_of_kustomization(&kustomizations, &automations, queue);
        let releases = caches.of(Watch::when_needed(&HELM_RELEASE));
        triggers::automations_of_release(&releases, &automations, queue);
    }

    fn reconciler(parts: &Parts) -> Option<Self> {
        Some(Self(AutomationContext::of(parts)))
    }
}

impl ImageUpdateAutomations {
    async fn run(
        &self,
        request: &ReconcileRequest<'_>,
        valid: Valid,
        status: &mut Status,
    ) -> Result<FinishedRun, Error> {
        let context = &self.0;
        let (automation, annotations) = (Arc::new(valid.automation), valid.annotations);
        let namespace = automation.metadata.namespace_or_default();
        let (policies, mut observed) = (context.policy_book).of(namespace, automation.spec.policy_selector.as_ref());
        let others = policies.others().cloned();
        let repository = dereference::repository(context, &automation).await?;
        let objects = dereference::objects(context, &automation, &repository).await?;
        let (limit, source) = (limit(&repository), Fetched::of(&repository));
        let verifier = verify::verifier(context, &automation, &annotations).await?;
        let following = self.following(&automation, &repository, &annotations, request).await;
        let (mut job, place) = self.job(&automation, repository, objects, policies).await?;
        job::annotate(&mut job, &annotations);
        job.edits.hooks.verify = verifier;
        job.edits.hooks.releases = release_notes::asked(context, namespace, &annotations, &job, request.log);
        job.edits.rules = rules::of(context, &automation, &annotations).await?;
        following.iter().for_each(|following| following.prepare(&mut job.edits));
        let run = run(job.clone(), place.clone(), limit).await?;
        others::record(context, request, &run, others.as_ref());
        others::observe(&mut observed, &run);
        self.tell((request, &source), &run, status.message_before()).await;
        let ran = Ran { run, job, place };
        let looked = rollout::look(context, following, &annotations, request, &ran).await;
        let again = status::looked(status, request, looked);
        match ran.run.failure {
            Some(failure) => Err(Error::Run(failure)),
            None => Ok(FinishedRun {
                automation,
                run: ran.run,
                observed,
                dry_run: annotations.dry_run,
                again,
            }),
        }
    }

    /// Has the source fetch what was pushed. Counts a run and its skips, and tells of those that the previous message
    /// `before` of Ready does not have.
    async fn tell(&self, (request, source): (&ReconcileRequest<'_>, &Fetched), run: &Run, before: &str) {
        fetch::request(&self.0, request, source, run).await;
        let metrics = &self.0.shared.metrics;
        request_metrics::run(metrics, run);
        skips::count(metrics, request, run);
        skips::warn(request, &run.skips, before);
        // What is said of a push, as that the server did not tell whose the change is. Conditions are Flux's.
        let notes = run.notes.iter().filter(|_| !run.pushes.is_empty());
        notes.for_each(|note| request.log.info(note));
    }

    /// The rollouts of an automation that follows its commits. A dry run leaves them as they are.
    async fn following(
        &self,
        automation: &Arc<ImageUpdateAutomation>,
        source: &GitRepository,
        annotations: &AutomationAnnotations,
        request: &ReconcileRequest<'_>,
    ) -> Option<Following> {
        let follow = annotations.follow.as_ref().filter(|_| !annotations.dry_run)?;
        Some(Following::begin(&self.0, automation, source, follow, request).await)
    }

    /// The job and its mirror. Blocks on identities and disks, so it has a thread of its own.
    async fn job(
        &self,
        automation: &Arc<ImageUpdateAutomation>,
        repository: GitRepository,
        objects: Objects,
        policies: Arc<Policies>,
    ) -> Result<(RemoteJob, Place), Error> {
        let (context, automation) = (Arc::clone(&self.0), Arc::clone(automation));
        let make = move || job::make(&context, &automation, &repository, &objects, policies);
        blocking::ask(make)
            .await
            .map_err(|error| Error::from(error.to_string()))?
    }
}

/// The time limit of a run.
fn limit(repository: &GitRepository) -> Duration {
    let timeout = repository.spec.timeout.map_or(TIMEOUT, |timeout| timeout.as_std());
    timeout.saturating_mul(CONVERSATIONS)
}

async fn run(job: RemoteJob, place: Place, limit: Duration) -> Result<Run, Interrupted> {
    blocking::ask(move || Job::within(limit, || run_remote(&job, &place))).await
}
