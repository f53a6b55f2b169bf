//! `GitRepository` as a source: from its reference to an artifact (source-controller v1.9, `GitRepositoryReconciler`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::artifacts::{self, Before};
use super::blocking;
use super::context::Context;
use super::gather;
use super::git_source::{Fetched, Fetching, Making, fetch, make};
use super::reconcile::{Reconcile, Turn};
use super::source_remote;
use super::source_status::{
    self, FETCH_FAILED, IN_STORAGE, INCLUDE_UNAVAILABLE, OUTDATED, STORAGE_FAILED, VERIFIED, failed,
};
use super::source_verify;
use super::status::{Notice, Outcome, Status, Weight};
use crate::api::{Artifact, GitRepository, GitRepositoryStatus, Is, ObjectName, Objects};
use crate::cluster::{GIT_REPOSITORY, Kind};
use crate::git::Remote;
use crate::source::CheckoutError;
use crate::storage::Storage;

/// Reconciles `GitRepository` objects.
#[derive(Debug)]
pub(super) struct GitRepositories {
    pub(super) context: Arc<Context>,
    pub(super) storage: Storage,
}

/// What a step leads to when it is not the next one.
type Step<T> = Result<T, Outcome>;

impl Reconcile for GitRepositories {
    const KIND: &'static Kind = &GIT_REPOSITORY;
    const CONTROLLER: &'static str = "source-controller";

    async fn reconcile(&self, turn: &Turn<'_>, status: &mut Status) -> Outcome {
        let repository: GitRepository = match turn.object.read(&GIT_REPOSITORY) {
            Ok(repository) => repository,
            Err(error) => return Outcome::stalled("InvalidSpec", &error),
        };
        let before = Before::of(status);
        let reconciling = Reconciling {
            all: self,
            turn,
            repository: &repository,
        };
        status.conditions.remove(STORAGE_FAILED);
        artifacts::check(turn, status, &self.storage).await;
        match reconciling.run(status).await {
            Ok(subject) => {
                let message = format!("stored artifact for commit '{subject}'");
                artifacts::tell_news(turn, status, &before, message);
                Outcome::Ready {
                    message: String::new(),
                    news: None,
                    trace: String::new(),
                    after: Some(reconciling.interval()),
                }
            }
            Err(outcome) => outcome,
        }
    }

    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<Notice> {
        source_status::conclude(status, outcome)
    }

    fn suspend(&self, status: &mut Status) {
        source_status::suspend(status);
    }

    async fn leave(&self, turn: &Turn<'_>) -> Result<(), String> {
        artifacts::remove_all(turn, &GIT_REPOSITORY, &self.storage).await
    }
}

/// One reconciliation of one repository.
struct Reconciling<'a> {
    all: &'a GitRepositories,
    turn: &'a Turn<'a>,
    repository: &'a GitRepository,
}

impl Reconciling<'_> {
    fn interval(&self) -> Duration {
        let interval = self.repository.spec.interval;
        interval.map_or(Duration::from_secs(60), |interval| interval.as_std())
    }

    /// All steps. Gives what was stored, for the event.
    async fn run(&self, status: &mut Status) -> Step<String> {
        if status.conditions.is(VERIFIED, Is::False) {
            status.conditions.remove(VERIFIED);
        }
        let objects = self.objects(status).await?;
        let remote = self.remote(status, &objects).await?;
        let includes = self.includes(status).await?;
        if includes != observed(status).included_artifacts {
            self.rebuild(
                status,
                "IncludeChange",
                "included artifacts differ from last observed includes",
            )
            .await;
        }
        status.conditions.remove(OUTDATED);
        let mut fetched = match self.fetched(status, &remote, &includes, true).await? {
            Some(fetched) => fetched,
            None => {
                let revision = artifacts::current(status).map(|artifact| artifact.revision);
                let revision = revision.unwrap_or_default();
                let message = format!("no changes since last reconciliation: observed revision '{revision}'");
                self.turn
                    .tell(Weight::Trace, "GitOperationSucceeded", message, BTreeMap::new());
                status.conditions.remove(FETCH_FAILED);
                in_storage(status, &revision);
                return Ok(revision);
            }
        };
        status.conditions.remove(FETCH_FAILED);
        source_verify::verify(self.turn, status, self.repository, &objects, &fetched)?;
        let revision = fetched.commit.revision.clone();
        if !artifacts::current(status).is_some_and(|artifact| artifact.has_revision(&revision)) {
            self.rebuild(status, "NewRevision", &format!("new upstream revision '{revision}'"))
                .await;
        }
        let subject = fetched.commit.short_message();
        match fetched.files.take() {
            Some(_) if self.is_current(status, &revision, &includes) => self.up_to_date(&revision),
            None => self.up_to_date(&revision),
            Some(files) => {
                let making = Making {
                    files,
                    includes: includes.clone(),
                    commit: fetched.commit.id.clone(),
                    revision: revision.clone(),
                };
                self.make(status, making).await?;
            }
        }
        status.conditions.remove(INCLUDE_UNAVAILABLE);
        status.conditions.remove(OUTDATED);
        in_storage(status, &revision);
        Ok(subject)
    }

    /// The Secrets and ServiceAccounts that it names.
    async fn objects(&self, status: &mut Status) -> Step<Objects> {
        let keys = source_verify::secret(self.repository);
        let gathered = gather::of_source(&self.all.context, self.repository, keys).await;
        gathered.map_err(|error| {
            let message = format!("failed to configure authentication options: {error}");
            failed(status, FETCH_FAILED, "AuthenticationFailed", message)
        })
    }

    async fn remote(&self, status: &mut Status, objects: &Objects) -> Step<Remote> {
        let (context, repository) = (Arc::clone(&self.all.context), self.repository.clone());
        let (objects, mut copy) = (objects.clone(), status.clone());
        let found = blocking::run(move || {
            let remote = source_remote::remote(&context, &repository, &objects, &mut copy);
            (remote, copy)
        });
        let (remote, after) = found.await.map_err(|error| Outcome::failed("Failed", &error))?;
        *status = after;
        remote
    }

    /// The artifacts of the repositories that are included, in the order of the spec.
    async fn includes(&self, status: &mut Status) -> Step<Vec<Artifact>> {
        let mut found = Vec::new();
        for include in &self.repository.spec.include {
            let name = &include.repository.name;
            let object = ObjectName::new(self.repository.metadata.namespace_or_default(), name);
            let other = self.all.context.watched(&self.all.context.sources, &object).await;
            let other = match other {
                Ok(other) => other,
                Err(error) => {
                    let why = match error.is_not_found() {
                        true => format!("GitRepository.source.toolkit.fluxcd.io {name:?} not found"),
                        false => error.to_string(),
                    };
                    let message = format!("could not get resource for include '{name}': {why}");
                    return Err(self.waiting(status, "NotFound", message));
                }
            };
            let artifact = other.status().get("artifact").and_then(artifacts::read);
            match artifact {
                Some(artifact) => found.push(artifact),
                None => {
                    let message = format!("no artifact available for include '{name}'");
                    return Err(self.waiting(status, "NoArtifact", message));
                }
            }
        }
        status.conditions.remove(INCLUDE_UNAVAILABLE);
        Ok(found)
    }

    fn waiting(&self, status: &mut Status, reason: &'static str, message: String) -> Outcome {
        status.conditions.set(INCLUDE_UNAVAILABLE, Is::True, reason, &message);
        Outcome::Waiting {
            reason,
            message,
            after: self.all.context.settings.requeue_dependency,
        }
    }

    /// The commit with its files, without them when the artifact is of the same commit and spec already. None when the reference is
    /// what it was and nothing else asks for more.
    async fn fetched(
        &self,
        status: &mut Status,
        remote: &Remote,
        includes: &[Artifact],
        may_skip: bool,
    ) -> Step<Option<Fetched>> {
        let same_content = self.same_content(status, includes);
        let observed = artifacts::current(status)
            .filter(|_| may_skip && same_content && status.conditions.is(IN_STORAGE, Is::True))
            .map(|artifact| artifact.revision);
        let fetching = Fetching {
            remote: remote.clone(),
            repository: self.repository.clone(),
            observed,
            made: artifacts::current(status)
                .map(|artifact| artifact.revision)
                .filter(|_| same_content),
        };
        let context = Arc::clone(&self.all.context);
        let done = blocking::run(move || fetch(&context.mirrors, &fetching)).await;
        let done = done.unwrap_or_else(|error| Err(CheckoutError::Failed(error)));
        done.map_err(|error| {
            let reason = match error {
                CheckoutError::Empty => "EmptyGitRepository",
                CheckoutError::Failed(_) | CheckoutError::Sparse { .. } => "GitOperationFailed",
            };
            failed(status, FETCH_FAILED, reason, error.to_string())
        })
    }

    async fn make(&self, status: &mut Status, making: Making) -> Step<()> {
        let (storage, repository) = (self.all.storage.clone(), self.repository.clone());
        let includes = making.includes.clone();
        let made = blocking::run(move || make(&storage, &repository, making)).await;
        let made = made.map_err(|error| Outcome::failed("Failed", &error))?;
        let artifact = made.map_err(|refused| refused.conclude(status))?;
        artifacts::set(status, &artifact);
        self.observe(status, includes);
        status.conditions.remove(STORAGE_FAILED);
        Ok(())
    }

    /// What the artifact was made from, besides its commit.
    fn observe(&self, status: &mut Status, includes: Vec<Artifact>) {
        let spec = &self.repository.spec;
        let made = GitRepositoryStatus {
            artifact: artifacts::current(status),
            included_artifacts: includes,
            observed_ignore: spec.ignore.clone(),
            observed_include: spec.include.clone(),
            observed_recurse_submodules: spec.recurse_submodules,
            observed_sparse_checkout: spec.sparse_checkout.clone(),
            source_verification_mode: observed(status).source_verification_mode,
        };
        let Value::Object(made) = json!(made) else { return };
        for field in [
            "includedArtifacts",
            "observedIgnore",
            "observedInclude",
            "observedRecurseSubmodules",
            "observedSparseCheckout",
        ] {
            status.fields.remove(field);
        }
        status.fields.extend(made);
    }

    fn up_to_date(&self, revision: &str) {
        let message = format!("artifact up-to-date with remote revision: '{revision}'");
        self.turn
            .tell(Weight::Trace, "ArtifactUpToDate", message, BTreeMap::new());
    }

    /// Says that the artifact is not the newest, and lets the cluster see it.
    async fn rebuild(&self, status: &mut Status, reason: &str, message: &str) {
        let has_artifact = match reason {
            "IncludeChange" => !observed(status).included_artifacts.is_empty(),
            _ => artifacts::current(status).is_some(),
        };
        if has_artifact {
            status.conditions.set(OUTDATED, Is::True, reason, message);
        }
        source_status::rebuilding(status, &format!("building artifact: {message}"));
        self.turn.persist(status).await;
    }

    fn is_current(&self, status: &Status, revision: &str, includes: &[Artifact]) -> bool {
        artifacts::current(status).is_some_and(|artifact| artifact.has_revision(revision))
            && self.same_content(status, includes)
    }

    /// Whether the artifact was made from what the spec says now, commit aside (`gitContentConfigChanged`).
    fn same_content(&self, status: &Status, includes: &[Artifact]) -> bool {
        let (spec, observed) = (&self.repository.spec, observed(status));
        let same_include =
            |(now, then): (&Artifact, &Artifact)| then.has_revision(&now.revision) && then.has_digest(&now.digest);
        spec.ignore == observed.observed_ignore
            && spec.recurse_submodules == observed.observed_recurse_submodules
            && spec.include == observed.observed_include
            && spec.sparse_checkout == observed.observed_sparse_checkout
            && !source_verify::is_due(self.repository, observed.source_verification_mode.as_deref())
            && includes.len() == observed.included_artifacts.len()
            && includes.iter().zip(&observed.included_artifacts).all(same_include)
    }
}

/// What the status says of the artifact.
fn observed(status: &Status) -> GitRepositoryStatus {
    serde_json::from_value(Value::Object(status.fields.clone())).unwrap_or_default()
}

fn in_storage(status: &mut Status, revision: &str) {
    let message = format!("stored artifact for revision '{revision}'");
    status.conditions.set(IN_STORAGE, Is::True, "Succeeded", &message);
}
