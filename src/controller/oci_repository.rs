//! `OCIRepository` as a source: from a tag or digest to an artifact (source-controller v1.9, `OCIRepositoryReconciler`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::artifacts::{self, Before, stored};
use super::blocking;
use super::context::Context;
use super::gather;
use super::oci_remote;
use super::oci_source::{PULL_FAILED, Pulled, READ_FAILED, make, pull};
use super::reconcile::{Reconcile, Turn};
use super::source_status::{self, FETCH_FAILED, IN_STORAGE, OUTDATED, STORAGE_FAILED, VERIFIED, failed};
use super::status::{Notice, Outcome, Status, Weight};
use crate::api::{Is, ObjectName, Objects, OciRepository, OciRepositoryStatus, OciVerification};
use crate::cluster::{Kind, OCI_REPOSITORY};
use crate::source::{OciPick, OciRemote, digest_of_revision, verify_cosign};
use crate::storage::{LATEST, Storage};
use crate::verify::cosign::{self, CosignError, CosignKeys};

/// What upstream's makers of artifacts write down of them (image-spec v1.1, *Pre-Defined Annotation Keys*).
const SOURCE: &str = "org.opencontainers.image.source";
const REVISION: &str = "org.opencontainers.image.revision";

/// Reconciles `OCIRepository` objects.
#[derive(Debug)]
pub(super) struct OciRepositories {
    pub(super) context: Arc<Context>,
    pub(super) storage: Storage,
}

/// What a step leads to when it is not the next one.
type Step<T> = Result<T, Outcome>;

impl Reconcile for OciRepositories {
    const KIND: &'static Kind = &OCI_REPOSITORY;
    const CONTROLLER: &'static str = "source-controller";

    async fn reconcile(&self, turn: &Turn<'_>, status: &mut Status) -> Outcome {
        let repository: OciRepository = match turn.object.read(&OCI_REPOSITORY) {
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
        reconciling.link(status);
        match reconciling.run(status).await {
            Ok(()) => {
                artifacts::tell_news(turn, status, &before, reconciling.news(status));
                let interval = repository.spec.interval;
                Outcome::Ready {
                    message: String::new(),
                    news: None,
                    trace: String::new(),
                    after: Some(interval.map_or(Duration::from_secs(60), |interval| interval.as_std())),
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
        artifacts::remove_all(turn, &OCI_REPOSITORY, &self.storage).await
    }
}

/// One reconciliation of one repository.
struct Reconciling<'a> {
    all: &'a OciRepositories,
    turn: &'a Turn<'a>,
    repository: &'a OciRepository,
}

impl Reconciling<'_> {
    /// `status.url` follows the artifact.
    fn link(&self, status: &mut Status) {
        let artifact = artifacts::current(status);
        let url = artifact.and_then(|artifact| self.all.storage.link_url(&stored(&artifact), LATEST).ok());
        match url {
            Some(url) => status.fields.insert("url".to_owned(), json!(url)),
            None => status.fields.remove("url"),
        };
    }

    /// All steps.
    async fn run(&self, status: &mut Status) -> Step<()> {
        if status.conditions.is(VERIFIED, Is::False) {
            status.conditions.remove(VERIFIED);
        }
        let objects = self.objects(status).await?;
        let remote = self.remote(status, &objects).await?;
        let (chosen, revision) = self.revision(status, &remote).await?;
        let verified = self.verify(status, &remote, &objects, &revision).await;
        let pulled = match verified {
            Ok(()) if self.is_current(status, &revision) => Ok(None),
            Ok(()) => self.pulled(status, &remote, &revision).await.map(Some),
            Err(outcome) => Err(outcome),
        };
        if pulled.is_ok() {
            status.conditions.remove(FETCH_FAILED);
        }
        if !has_revision(status, &revision) {
            self.rebuild(
                status,
                &format!("new revision '{revision}' for '{}'", remote.name(&chosen)),
            )
            .await;
        }
        match pulled? {
            Some(pulled) => self.make(status, &revision, pulled).await?,
            None => {
                let message = format!("artifact up-to-date with remote revision: '{revision}'");
                let none = BTreeMap::new();
                self.turn.tell(Weight::Trace, "ArtifactUpToDate", message, none);
            }
        }
        status.conditions.remove(OUTDATED);
        let message = format!("stored artifact for digest '{revision}'");
        status.conditions.set(IN_STORAGE, Is::True, "Succeeded", &message);
        Ok(())
    }

    /// The Secrets and ServiceAccounts that it names.
    async fn objects(&self, status: &mut Status) -> Step<Objects> {
        let gathered = gather::of_oci(&self.all.context, self.repository).await;
        let objects = gathered.map_err(|error| {
            let message = format!("failed to get credential: {error}");
            failed(status, FETCH_FAILED, "AuthenticationFailed", message)
        })?;
        if let Some(reference) = &self.repository.spec.secret_ref
            && objects.secret(&self.beside(&reference.name)).is_none()
        {
            let message = format!("auth secret '{}' not found", reference.name);
            let none = BTreeMap::new();
            self.turn.tell(Weight::Trace, "AuthenticationFailed", message, none);
        }
        Ok(objects)
    }

    fn beside(&self, name: &str) -> ObjectName {
        ObjectName::new(self.repository.metadata.namespace_or_default(), name)
    }

    async fn remote(&self, status: &mut Status, objects: &Objects) -> Step<OciRemote> {
        let (context, repository) = (Arc::clone(&self.all.context), self.repository.clone());
        let (objects, mut copy) = (objects.clone(), status.clone());
        let found = blocking::run(move || {
            let remote = oci_remote::remote(&context, &repository, &objects, &mut copy);
            (remote, copy)
        });
        let (remote, after) = found.await.map_err(|error| Outcome::failed("Failed", &error))?;
        *status = after;
        remote
    }

    /// What the spec asks for, `:TAG` or `@DIGEST`, and what that is now.
    async fn revision(&self, status: &mut Status, remote: &OciRemote) -> Step<(String, String)> {
        let spec = &self.repository.spec;
        let pick = OciPick::of(spec.reference.as_ref());
        let selector = spec.layer_selector.clone().unwrap_or_default();
        let remote = remote.clone();
        let found = blocking::run(move || {
            let chosen = remote
                .chosen(&pick, &selector.media_type)
                .map_err(|error| (true, error))?;
            let revision = remote.revision(&chosen).map_err(|error| (false, error))?;
            Ok((chosen, revision))
        });
        let found = found.await.map_err(|error| Outcome::failed("Failed", &error))?;
        found.map_err(|(of_tag, error)| {
            let (reason, message) = match of_tag {
                true => {
                    let message = format!("failed to determine the artifact tag for '{}': {error}", spec.url);
                    (READ_FAILED, message)
                }
                false => (PULL_FAILED, format!("failed to determine artifact digest: {error}")),
            };
            failed(status, FETCH_FAILED, reason, message)
        })
    }

    /// Looks at the signatures, if the spec wants that and it was not done for this revision and generation.
    async fn verify(&self, status: &mut Status, remote: &OciRemote, objects: &Objects, revision: &str) -> Step<()> {
        let Some(verify) = &self.repository.spec.verify else {
            status.conditions.remove(VERIFIED);
            return Ok(());
        };
        let generation = self.turn.object.generation;
        let verified = status.conditions.get(VERIFIED);
        let is_done = verified.is_some_and(|verified| verified.observed_generation == Some(generation));
        if is_done && has_revision(status, revision) {
            return Ok(());
        }
        match self.verified(verify, remote, objects, revision).await {
            Ok(()) => {
                let message = cosign::verified_message(revision);
                status.conditions.set(VERIFIED, Is::True, "Succeeded", &message);
                Ok(())
            }
            Err(error) => {
                let message = error.message(&verify.provider, verify.secret_ref.is_some());
                let reason = CosignError::REASON;
                status.conditions.set(VERIFIED, Is::False, reason, &message);
                Err(Outcome::Failed { reason, message })
            }
        }
    }

    async fn verified(
        &self,
        verify: &OciVerification,
        remote: &OciRemote,
        objects: &Objects,
        revision: &str,
    ) -> Result<(), CosignError> {
        cosign::check_provider(&verify.provider, verify.secret_ref.is_some())?;
        let Some(reference) = &verify.secret_ref else {
            return Err(CosignError::Keyless);
        };
        let name = self.beside(&reference.name);
        let missing = || CosignError::Key(format!("secrets {:?} not found", name.name));
        let secret = objects.secret(&name).ok_or_else(missing)?;
        let keys = CosignKeys::from_entries(secret.entries().map_err(|error| CosignError::Key(error.to_string()))?);
        let (remote, digest) = (remote.clone(), digest_of_revision(revision).to_owned());
        let judged = blocking::run(move || verify_cosign(&remote, &digest, &keys)).await;
        judged.unwrap_or_else(|error| Err(CosignError::Manifest(error)))
    }

    async fn pulled(&self, status: &mut Status, remote: &OciRemote, revision: &str) -> Step<Pulled> {
        let (remote, spec) = (remote.clone(), self.repository.spec.clone());
        let digest = digest_of_revision(revision).to_owned();
        let folder = self.all.context.settings.storage.clone();
        let pulled = blocking::run(move || pull(&remote, &spec, &digest, &folder)).await;
        let pulled = pulled.map_err(|error| Outcome::failed("Failed", &error))?;
        pulled.map_err(|refused| refused.conclude(status))
    }

    async fn make(&self, status: &mut Status, revision: &str, pulled: Pulled) -> Step<()> {
        let (storage, name) = (self.all.storage.clone(), self.repository.metadata.object_name());
        let (ignore, revision) = (self.repository.spec.ignore.clone(), revision.to_owned());
        let made = blocking::run(move || make(&storage, &name, ignore.as_deref(), &revision, pulled)).await;
        let made = made.map_err(|error| Outcome::failed("Failed", &error))?;
        let artifact = made.map_err(|refused| refused.conclude(status))?;
        let spec = &self.repository.spec;
        let observed = OciRepositoryStatus {
            artifact: Some(artifact),
            observed_ignore: spec.ignore.clone(),
            observed_layer_selector: spec.layer_selector.clone(),
        };
        let Value::Object(observed) = json!(observed) else {
            return Ok(());
        };
        for field in ["observedIgnore", "observedLayerSelector"] {
            status.fields.remove(field);
        }
        status.fields.extend(observed);
        self.link(status);
        status.conditions.remove(STORAGE_FAILED);
        Ok(())
    }

    /// Says that the artifact is not the newest, and lets the cluster see it.
    async fn rebuild(&self, status: &mut Status, message: &str) {
        if artifacts::current(status).is_some() {
            status.conditions.set(OUTDATED, Is::True, "NewRevision", message);
        }
        source_status::rebuilding(status, &format!("building artifact: {message}"));
        self.turn.persist(status).await;
    }

    /// Whether the artifact is of this revision and spec (`ociContentConfigChanged`).
    fn is_current(&self, status: &Status, revision: &str) -> bool {
        let (spec, observed) = (&self.repository.spec, observed(status));
        has_revision(status, revision)
            && spec.ignore == observed.observed_ignore
            && spec.layer_selector == observed.observed_layer_selector
    }

    /// What an event says of a new artifact.
    fn news(&self, status: &Status) -> String {
        let artifact = artifacts::current(status).unwrap_or_default();
        let url = &self.repository.spec.url;
        let message = format!("stored artifact with revision '{}' from '{url}'", artifact.revision);
        let said = |key| artifact.metadata.get(key).filter(|value| !value.is_empty());
        match (said(SOURCE), said(REVISION)) {
            (Some(source), Some(revision)) => {
                format!("{message}, origin source '{source}', origin revision '{revision}'")
            }
            _ => message,
        }
    }
}

fn has_revision(status: &Status, revision: &str) -> bool {
    artifacts::current(status).is_some_and(|artifact| artifact.has_revision(revision))
}

/// What the status says of the artifact.
fn observed(status: &Status) -> OciRepositoryStatus {
    serde_json::from_value(Value::Object(status.fields.clone())).unwrap_or_default()
}
