//! `ImageUpdateAutomation`: runs when policies, its repository or its spec say so (image-automation-controller v1.2;
//! IUA v1, IUA-*; docs/behaviour/image-automation-controller.md, *Status* and *Reasons and messages*).

mod job;
mod preview;
mod skips;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::controllers::context::Context;
use crate::controllers::counting;
use crate::controllers::gather;
use bumpwright_api::{AutomationAnnotations, GitRepository, ImageUpdateAutomation, ObjectName, Objects, Strategy};
use bumpwright_artifact::Revision;
use bumpwright_http::Job;
use bumpwright_kube::{Cache, GIT_REPOSITORY, IMAGE_UPDATE_AUTOMATION, Kind, Object};
use bumpwright_runtime::{Outcome, Reconcile, ReconcileRequest, Status};
use bumpwright_update::{Place, Policies, RemoteJob, Run, run_remote};
use job::Refused;

/// Reconciles `ImageUpdateAutomation` objects.
#[derive(Debug)]
pub(crate) struct ImageUpdateAutomations(pub(crate) Arc<Context>);

const READY: &str = "repository up-to-date";

/// The timeout of a GitRepository that has none.
const TIMEOUT: Duration = Duration::from_secs(60);

/// So many times its timeout a run has, with all attempts to push.
const CONVERSATIONS: u32 = 10;

impl Reconcile for ImageUpdateAutomations {
    const KIND: &'static Kind = &IMAGE_UPDATE_AUTOMATION;
    const CONTROLLER: &'static str = "image-automation-controller";

    /// A run before the policies are known would find none.
    fn needs(&self) -> Vec<&Cache> {
        vec![&self.0.policies]
    }

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        status
            .fields
            .insert("lastAutomationRunTime".to_owned(), json!(request.now));
        self.try_reconcile(request, status)
            .await
            .unwrap_or_else(|outcome| outcome)
    }
    async fn finished(&self, name: &ObjectName) {
        self.0.measure_mirrors(Self::KIND.kind, name).await;
    }

    async fn forgotten(&self, name: &ObjectName) {
        self.0.forget_mirrors(Self::KIND.kind, name).await;
    }
}

impl ImageUpdateAutomations {
    async fn try_reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Result<Outcome, Outcome> {
        let automation = read(request.object)?;
        let annotations = AutomationAnnotations::read(&request.object.annotations)
            .map_err(|error| Outcome::stalled("InvalidAnnotation", &error))?;
        let (policies, observed) = self.policies(&automation)?;
        let repository = self.repository(&automation).await?;
        let others = job::signing_secret(&automation)
            .into_iter()
            .chain(job::pull_request_secret(&automation));
        let objects = gather::of_git(&self.0, &repository, &automation, others)
            .await
            .map_err(|error| {
                Outcome::backoff(
                    "SourceManagerFailed",
                    &format!("failed configuring source manager: {error}"),
                )
            })?;
        let automation = Arc::new(automation);
        let limit = repository.spec.timeout.map_or(TIMEOUT, |timeout| timeout.as_std());
        let limit = limit.saturating_mul(CONVERSATIONS);
        let made = self.job(&automation, repository, objects, policies).await;
        let (mut job, place) = made.map_err(|refused| match refused {
            Refused::Stalled(outcome) => outcome,
            Refused::Checkout { url, message } => Outcome::backoff(
                "GitOperationFailed",
                &format!("failed to checkout source: unable to clone '{url}': {message}"),
            ),
            Refused::Failed(message) => Outcome::backoff(
                "SourceManagerFailed",
                &format!("failed configuring source manager: {message}"),
            ),
        })?;
        job.edits.dry_run = annotations.dry_run;
        let run = run(job, place, limit)
            .await
            .map_err(|error| Outcome::backoff("Failed", &error))?;
        counting::run(&self.0.metrics, &run);
        skips::count(&self.0, request, &run);
        skips::warn(request, &run.skips, status.message_before());
        if let Some(failure) = &run.failure {
            return Err(Outcome::Backoff {
                reason: failure.reason,
                message: failure.message.clone(),
            });
        }
        if annotations.dry_run {
            return Ok(preview::outcome(&automation, &run));
        }
        let none = Value::Object(Map::new());
        let unchanged = !is_switched(&automation, &run)
            && status.fields.get("observedPolicies").unwrap_or(&none) == &observed
            && Revision::parse(status.text("observedSourceRevision")) == run.revision;
        Ok(concluded(request, status, &automation, &run, observed, unchanged))
    }

    /// What is to be run. Identities are asked for, and disks read, on a thread of its own.
    async fn job(
        &self,
        automation: &Arc<ImageUpdateAutomation>,
        repository: GitRepository,
        objects: Objects,
        policies: Arc<Policies>,
    ) -> Result<(RemoteJob, Place), Refused> {
        let (context, automation) = (Arc::clone(&self.0), Arc::clone(automation));
        let make = move || job::make(&context, &automation, &repository, &objects, policies);
        let made = bumpwright_runtime::blocking::ask(make).await;
        made.unwrap_or_else(|error| Err(Refused::Failed(error)))
    }

    /// The policies of the namespace with their images, and what the status says of them.
    fn policies(&self, automation: &ImageUpdateAutomation) -> Result<(Arc<Policies>, Value), Outcome> {
        let namespace = automation.metadata.namespace_or_default();
        let selector = automation.spec.policy_selector.as_ref();
        if let Some(selector) = selector {
            selector.validate().map_err(|error| {
                Outcome::stalled(
                    "InvalidPolicySelector",
                    &format!("failed to parse policy selector: {error}"),
                )
            })?;
        }
        Ok(self.0.policy_book.of(namespace, selector))
    }

    async fn repository(&self, automation: &ImageUpdateAutomation) -> Result<GitRepository, Outcome> {
        if automation.spec.git.is_none() {
            return Err(Outcome::stalled(
                "InvalidSourceConfiguration",
                &"source kind 'GitRepository' necessitates field .spec.git: invalid source configuration",
            ));
        }
        let name = automation.source_name();
        if self.0.settings.no_cross_namespace_refs && name.namespace != automation.metadata.namespace_or_default() {
            return Err(Outcome::stalled(
                "AccessDenied",
                &format!("can't access 'GitRepository/{name}', cross-namespace references have been blocked"),
            ));
        }
        let failed = |message: &str| {
            Outcome::backoff(
                "SourceManagerFailed",
                &format!("failed configuring source manager: {message}"),
            )
        };
        let found = self.0.watched(&self.0.sources, &name).await;
        let found = found.map_err(|error| match error.is_not_found() {
            true => failed(&format!("referenced git repository does not exist: {error}")),
            false => failed(&error.to_string()),
        })?;
        found
            .read(&GIT_REPOSITORY)
            .map_err(|error| failed(&format!("GitRepository/{name}: {error}")))
    }
}

/// What an automation asks for; what it cannot ask for is the outcome.
fn read(object: &Object) -> Result<ImageUpdateAutomation, Outcome> {
    object
        .read(&IMAGE_UPDATE_AUTOMATION)
        .map_err(|error| match unknown_strategy(object) {
            Some(strategy) => Outcome::stalled(
                "InvalidUpdateStrategy",
                &format!("unsupported update strategy: {strategy}"),
            ),
            None => Outcome::stalled("InvalidSpec", &error),
        })
}

/// A strategy that nobody knows, which a definition of the kind other than ours may let through (N-022).
fn unknown_strategy(object: &Object) -> Option<String> {
    let spec = object.field("spec");
    let strategy = spec.pointer("/update/strategy")?;
    let is_known = Strategy::deserialize(strategy).is_ok();
    strategy.as_str().filter(|_| !is_known).map(str::to_owned)
}

/// Whether the automation pushes elsewhere than where it starts: what is there, only a whole run finds out.
fn is_switched(automation: &ImageUpdateAutomation, run: &Run) -> bool {
    let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
    push.is_some_and(|push| {
        let branch = push.branch.as_deref().filter(|branch| !branch.is_empty());
        let refspec = push.refspec.as_deref().filter(|refspec| !refspec.is_empty());
        let start = run.revision.as_ref().map(|revision| revision.name.as_str());
        refspec.is_some() || branch.is_some_and(|branch| start != Some(branch))
    })
}

async fn run(job: RemoteJob, place: Place, limit: Duration) -> Result<Run, String> {
    bumpwright_runtime::blocking::ask(move || Job::within(limit, || run_remote(&job, &place))).await
}

fn concluded(
    request: &ReconcileRequest<'_>,
    status: &mut Status,
    automation: &ImageUpdateAutomation,
    run: &Run,
    observed: Value,
    unchanged: bool,
) -> Outcome {
    let commit = run.commit.as_ref().filter(|_| run.has_pushed());
    let pushed = commit.and_then(|commit| commit.id.as_ref());
    let fields = &mut status.fields;
    if let Some(id) = pushed {
        fields.insert("lastPushCommit".to_owned(), json!(id));
        fields.insert("lastPushTime".to_owned(), json!(request.now));
    }
    let revision = run.revision_after().map(|revision| revision.to_string());
    fields.insert("observedSourceRevision".to_owned(), json!(revision.unwrap_or_default()));
    match observed.as_object().is_some_and(Map::is_empty) {
        true => fields.remove("observedPolicies"),
        false => fields.insert("observedPolicies".to_owned(), observed),
    };
    let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
    let refspec = push.and_then(|push| push.refspec.as_deref());
    let skipped = skips::summary(&run.skips);
    let with = |text: String| match &skipped {
        Some(skipped) => format!("{text}\n{skipped}"),
        None => text,
    };
    let trace = if unchanged {
        "no change since last reconciliation"
    } else {
        READY
    };
    Outcome::Ready {
        message: with(READY.to_owned()),
        news: pushed.map(|_| with(summary(run, refspec))),
        trace: trace.to_owned(),
        after: Some(automation.interval()),
    }
}

/// `pushed commit 'abcdef1' to branch 'main'` (image-automation-controller v1.2, `PushResult.Summary`).
fn summary(run: &Run, refspec: Option<&str>) -> String {
    let Some(commit) = &run.commit else {
        return String::new();
    };
    let id = commit.id.as_deref().unwrap_or_default();
    let short = id.get(..7).unwrap_or(id);
    let mut text = format!(
        "pushed commit '{short}' to branch '{}'",
        commit.branch.as_deref().unwrap_or_default()
    );
    if let Some(refspec) = refspec.filter(|refspec| !refspec.is_empty()) {
        text.push_str(&format!(" and refspecs '{refspec}'"));
    }
    if !commit.message.is_empty() {
        text.push('\n');
        text.push_str(&commit.message);
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A push branch is another one also when its name is the first part of the other's, up to an `@`.
    #[test]
    fn an_automation_is_switched_when_it_pushes_to_another_branch() {
        let run = |branch: &str| Run {
            revision: Revision::parse(&format!("{branch}@sha1:{}", "0".repeat(40))),
            ..Run::default()
        };
        let pushes_to = |push: Value| -> ImageUpdateAutomation {
            let git = json!({"commit": {"author": {"email": "bot@example.com"}}, "push": push});
            serde_json::from_value(json!({
                "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageUpdateAutomation",
                "metadata": {"name": "all", "namespace": "fs"},
                "spec": {"interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "fleet"}, "git": git},
            }))
            .unwrap()
        };
        let main = pushes_to(json!({"branch": "main"}));
        assert!(!is_switched(&main, &run("main")));
        assert!(is_switched(&main, &run("next")));
        assert!(is_switched(&main, &run("main@home")));
        assert!(is_switched(
            &pushes_to(json!({"refspec": "refs/heads/main:refs/heads/x"})),
            &run("main")
        ));
        assert!(!is_switched(&pushes_to(Value::Null), &run("main")));
    }
}
