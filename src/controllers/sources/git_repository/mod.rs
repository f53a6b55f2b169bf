//! `GitRepository` as a source: from its reference to an artifact (source-controller v1.9, `GitRepositoryReconciler`).

mod error;
mod fetch;
mod verify;

use std::sync::Arc;

use crate::controllers::dereference;
use crate::controllers::older_keys;
use crate::controllers::sources::artifacts;
use crate::controllers::sources::git_remote;
use crate::controllers::sources::source::{Source, SourceRequest, asking, blocking};
use crate::controllers::sources::status::{FETCH_FAILED, IN_STORAGE, INCLUDE_UNAVAILABLE, OUTDATED, VERIFIED};
use bumpwright_api::{Artifact, GitRepository, GitRepositoryStatus, GoDuration, Is, Objects};
use bumpwright_connect::References;
use bumpwright_git::Remote;
use bumpwright_http::Job;
use bumpwright_kube::{GIT_REPOSITORY, Kind};
use bumpwright_runtime::Status;
pub(crate) use error::Error;
use fetch::{Fetched, Fetching, Gathered, fetch, make};

impl Source for GitRepository {
    const KIND: &'static Kind = &GIT_REPOSITORY;
    const LINK: Option<&'static str> = None;
    type Observed = GitRepositoryStatus;
    type Error = Error;

    fn interval(&self) -> Option<GoDuration> {
        self.spec.interval
    }

    async fn run(request: &mut SourceRequest<'_, Self>, status: &mut Status) -> Result<String, Error> {
        let subject = request.run(status).await?;
        Ok(format!("stored artifact for commit '{subject}'"))
    }
}

impl SourceRequest<'_, GitRepository> {
    /// All steps. Gives what was stored, for the event.
    async fn run(&mut self, status: &mut Status) -> Result<String, Error> {
        if status.conditions.is(VERIFIED, Is::False) {
            status.conditions.remove(VERIFIED);
        }
        let objects = self.objects().await?;
        let remote = self.remote(&objects).await?;
        let includes = self.includes().await?;
        status.conditions.remove(INCLUDE_UNAVAILABLE);
        if includes != self.observed.included_artifacts {
            let outdated = (!self.observed.included_artifacts.is_empty()).then_some("IncludeChange");
            let message = "included artifacts differ from last observed includes";
            self.rebuild(status, outdated, message).await;
        }
        status.conditions.remove(OUTDATED);
        let Some(fetched) = self.fetch(status, &remote, &includes).await? else {
            return Ok(self.unchanged(status));
        };
        status.conditions.remove(FETCH_FAILED);
        verify::verify(self.request, status, &self.object, &objects, &fetched)?;
        self.observed.source_verification_mode = verify::mode(&self.object).map(str::to_owned);
        let revision = fetched.commit.revision.to_string();
        if !artifacts::is_of(status, &revision) {
            let outdated = artifacts::current(status).map(|_| "NewRevision");
            let message = format!("new upstream revision '{revision}'");
            self.rebuild(status, outdated, &message).await;
        }
        let subject = fetched.commit.short_message();
        self.make_unless_current(status, fetched, includes).await?;
        status.conditions.remove(INCLUDE_UNAVAILABLE);
        status.conditions.remove(OUTDATED);
        in_storage(status, &revision);
        Ok(subject)
    }

    /// Makes an artifact of what was fetched, unless there is one of the same revision and spec.
    async fn make_unless_current(
        &mut self,
        status: &mut Status,
        fetched: Fetched,
        includes: Vec<Artifact>,
    ) -> Result<(), Error> {
        let revision = fetched.commit.revision.to_string();
        let is_current = artifacts::is_of(status, &revision) && self.is_made_of(&includes);
        let Some(files) = fetched.files.filter(|_| !is_current) else {
            self.up_to_date(&revision);
            return Ok(());
        };
        let gathered = Gathered {
            files,
            includes,
            commit: fetched.commit.id,
            revision,
        };
        self.make(status, gathered).await
    }

    /// Nothing had to be fetched.
    fn unchanged(&self, status: &mut Status) -> String {
        let revision = artifacts::current(status).map(|artifact| artifact.revision);
        let revision = revision.unwrap_or_default();
        let message = format!("no changes since last reconciliation: observed revision '{revision}'");
        self.trace("GitOperationSucceeded", message);
        status.conditions.remove(FETCH_FAILED);
        in_storage(status, &revision);
        revision
    }

    /// The Secrets and ServiceAccounts that it names.
    async fn objects(&self) -> Result<Objects, Error> {
        let keys = verify::secret(&self.object);
        let references = References::of(&self.object, &self.context.accounts).with_secrets(keys);
        let gathered = dereference::read(self.context, references).await;
        let objects = gathered.map_err(|error| {
            let message = format!("failed to configure authentication options: {error}");
            Error::AuthenticationFailed(message)
        })?;
        let spec = &self.object.spec;
        older_keys::tell(
            self.request,
            &objects,
            spec.secret_ref.iter().chain(&spec.cert_secret_ref),
        );
        Ok(objects)
    }

    async fn remote(&self, objects: &Objects) -> Result<Remote, Error> {
        let (context, repository, objects) = (Arc::clone(self.context), self.object.clone(), objects.clone());
        asking(move || git_remote::remote(&context, &repository, &objects)).await
    }

    /// The artifacts of the repositories that are included, in the order of the spec.
    async fn includes(&self) -> Result<Vec<Artifact>, Error> {
        let after = self.context.settings.requeue_dependency;
        let mut found = Vec::new();
        for include in &self.object.spec.include {
            let name = &include.repository.name;
            let other = self.context.watched(&self.context.sources, &self.beside(name)).await;
            let other = match other {
                Ok(other) => other,
                Err(error) => {
                    let why = match error.is_not_found() {
                        true => format!("GitRepository.source.toolkit.fluxcd.io {name:?} not found"),
                        false => error.to_string(),
                    };
                    return Err(Error::NotFound {
                        include: name.clone(),
                        why,
                        after,
                    });
                }
            };
            let artifact = other.status().get("artifact").and_then(artifacts::read);
            match artifact {
                Some(artifact) => found.push(artifact),
                None => {
                    return Err(Error::NoArtifact {
                        include: name.clone(),
                        after,
                    });
                }
            }
        }
        Ok(found)
    }

    /// The commit with its files, without them when the artifact is of the same commit and spec already. None when the reference is
    /// what it was and nothing else asks for more.
    async fn fetch(&self, status: &Status, remote: &Remote, includes: &[Artifact]) -> Result<Option<Fetched>, Error> {
        let artifact = artifacts::current(status).filter(|_| self.is_made_of(includes));
        let made = artifact.map(|artifact| artifact.revision);
        let fetching = Fetching {
            remote: remote.clone(),
            repository: self.object.clone(),
            observed: made.clone().filter(|_| status.conditions.is(IN_STORAGE, Is::True)),
            made,
        };
        let context = Arc::clone(self.context);
        // Once for waiting until another fetch of the same repository is over, and once for its own, submodules and all.
        let limit = remote.timeout.saturating_mul(2);
        let fetched = move || {
            let fetched = Job::within(limit, || fetch(&context.mirrors, &fetching));
            fetched.map_err(Error::from)
        };
        asking(fetched).await
    }

    async fn make(&mut self, status: &mut Status, gathered: Gathered) -> Result<(), Error> {
        let spec = &self.object.spec;
        let observed = GitRepositoryStatus {
            artifact: None,
            included_artifacts: gathered.includes.clone(),
            observed_ignore: spec.ignore.clone(),
            observed_include: spec.include.clone(),
            observed_recurse_submodules: spec.recurse_submodules,
            observed_sparse_checkout: spec.sparse_checkout.clone(),
            source_verification_mode: self.observed.source_verification_mode.clone(),
        };
        let (storage, repository) = (self.storage.clone(), self.object.clone());
        let budget = self.context.settings.fetches.of(&self.request.object.name.namespace);
        let artifact = blocking(move || make(&storage, &repository, gathered, &budget)).await?;
        self.store(status, &artifact, observed);
        Ok(())
    }

    /// Whether the artifact was made from what the spec says now, commit aside (`gitContentConfigChanged`).
    fn is_made_of(&self, includes: &[Artifact]) -> bool {
        let (spec, observed) = (&self.object.spec, &self.observed);
        let same_include =
            |(now, then): (&Artifact, &Artifact)| then.has_revision(&now.revision) && then.has_digest(&now.digest);
        spec.ignore == observed.observed_ignore
            && spec.recurse_submodules == observed.observed_recurse_submodules
            && spec.include == observed.observed_include
            && spec.sparse_checkout == observed.observed_sparse_checkout
            && !verify::is_due(&self.object, observed.source_verification_mode.as_deref())
            && includes.len() == observed.included_artifacts.len()
            && includes.iter().zip(&observed.included_artifacts).all(same_include)
    }
}

fn in_storage(status: &mut Status, revision: &str) {
    let message = format!("stored artifact for revision '{revision}'");
    status.conditions.set(IN_STORAGE, Is::True, "Succeeded", &message);
}
