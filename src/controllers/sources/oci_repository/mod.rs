//! `OCIRepository` as a source: from a tag or digest to an artifact (source-controller v1.9, `OCIRepositoryReconciler`).

mod error;
mod fetch;

use std::sync::Arc;

use crate::controllers::dereference;
use crate::controllers::older_keys;
use crate::controllers::sources::artifacts;
use crate::controllers::sources::error::SourceError as _;
use crate::controllers::sources::oci_remote;
use crate::controllers::sources::source::{Source, SourceRequest, asking, blocking as blocking_step};
use crate::controllers::sources::status::{FETCH_FAILED, IN_STORAGE, OUTDATED, VERIFIED};
use bumpwright_api::{GoDuration, Is, Objects, OciRepository, OciRepositoryStatus, OciVerification};
use bumpwright_artifact::revision::digest_text;
use bumpwright_kube::{Kind, OCI_REPOSITORY};
use bumpwright_runtime::{Status, blocking};
use bumpwright_source::{OciPick, OciRemote, verify_cosign};
use bumpwright_storage::LATEST;
use bumpwright_verify::cosign::{self, CosignError, CosignKeys};
pub(crate) use error::Error;
use fetch::{Most, Pulled, make, pull};

/// What upstream's makers of artifacts write down of them (image-spec v1.1, *Pre-Defined Annotation Keys*).
const SOURCE: &str = "org.opencontainers.image.source";
const REVISION: &str = "org.opencontainers.image.revision";

impl Source for OciRepository {
    const KIND: &'static Kind = &OCI_REPOSITORY;
    const LINK: Option<&'static str> = Some(LATEST);
    type Observed = OciRepositoryStatus;
    type Error = Error;

    fn interval(&self) -> Option<GoDuration> {
        self.spec.interval
    }

    async fn run(request: &mut SourceRequest<'_, Self>, status: &mut Status) -> Result<String, Error> {
        request.run(status).await?;
        Ok(request.news(status))
    }
}

impl SourceRequest<'_, OciRepository> {
    /// All steps.
    async fn run(&mut self, status: &mut Status) -> Result<(), Error> {
        if status.conditions.is(VERIFIED, Is::False) {
            status.conditions.remove(VERIFIED);
        }
        let objects = self.objects().await?;
        let remote = self.remote(&objects).await?;
        let (chosen, revision) = self.revision(&remote).await?;
        let verified = self.verify(status, &remote, &objects, &revision).await;
        let pulled = match verified {
            Ok(()) if self.is_current(status, &revision) => Ok(None),
            Ok(()) => self.pull(&remote, &revision).await.map(Some),
            Err(error) => Err(error),
        };
        match &pulled {
            Ok(_) => status.conditions.remove(FETCH_FAILED),
            // The status may be written before the reconciliation ends.
            Err(error) => error.show(status),
        }
        if !artifacts::is_of(status, &revision) {
            let outdated = artifacts::current(status).map(|_| "NewRevision");
            let message = format!("new revision '{revision}' for '{}'", remote.name(&chosen));
            self.rebuild(status, outdated, &message).await;
        }
        match pulled? {
            Some(pulled) => self.make(status, &revision, pulled).await?,
            None => self.up_to_date(&revision),
        }
        status.conditions.remove(OUTDATED);
        let message = format!("stored artifact for digest '{revision}'");
        status.conditions.set(IN_STORAGE, Is::True, "Succeeded", &message);
        Ok(())
    }

    /// The Secrets and ServiceAccounts that it names.
    async fn objects(&self) -> Result<Objects, Error> {
        let gathered = dereference::of(self.context, &self.object).await;
        let objects = gathered.map_err(|error| {
            let message = format!("failed to get credential: {error}");
            Error::AuthenticationFailed(message)
        })?;
        if let Some(reference) = &self.object.spec.secret_ref
            && objects.secret(&self.beside(&reference.name)).is_none()
        {
            let message = format!("auth secret '{}' not found", reference.name);
            self.trace("AuthenticationFailed", message);
        }
        older_keys::tell(self.request, &objects, &self.object.spec.cert_secret_ref);
        Ok(objects)
    }

    async fn remote(&self, objects: &Objects) -> Result<OciRemote, Error> {
        let (context, repository, objects) = (Arc::clone(self.context), self.object.clone(), objects.clone());
        asking(move || oci_remote::remote(&context, &repository, &objects)).await
    }

    /// What the spec asks for, `:TAG` or `@DIGEST`, and what that is now.
    async fn revision(&self, remote: &OciRemote) -> Result<(String, String), Error> {
        let spec = &self.object.spec;
        let pick = OciPick::of(spec.reference.as_ref());
        let selector = spec.layer_selector.clone().unwrap_or_default();
        let (remote, url) = (remote.clone(), spec.url.clone());
        let found = move || {
            let chosen = remote.chosen(&pick, &selector.media_type).map_err(|error| {
                let message = format!("failed to determine the artifact tag for '{url}': {error}");
                Error::ReadOperationFailed(message)
            })?;
            let revision = remote.revision(&chosen).map_err(|error| {
                let message = format!("failed to determine artifact digest: {error}");
                Error::OciArtifactPullFailed(message)
            })?;
            Ok((chosen, revision))
        };
        asking(found).await
    }

    /// Looks at the signatures, if the spec wants that and it was not done for this revision and generation.
    async fn verify(
        &self,
        status: &mut Status,
        remote: &OciRemote,
        objects: &Objects,
        revision: &str,
    ) -> Result<(), Error> {
        let Some(verify) = &self.object.spec.verify else {
            status.conditions.remove(VERIFIED);
            return Ok(());
        };
        let generation = self.request.object.generation;
        let verified = status.conditions.get(VERIFIED);
        let is_done = verified.is_some_and(|verified| verified.observed_generation == Some(generation));
        if is_done && artifacts::is_of(status, revision) {
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
                Err(Error::VerificationError(message))
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
        let (remote, digest) = (remote.clone(), digest_text(revision).to_owned());
        let judged = blocking::ask(move || verify_cosign(&remote, &digest, &keys)).await;
        judged.unwrap_or_else(|error| Err(CosignError::Manifest(error)))
    }

    async fn pull(&self, remote: &OciRemote, revision: &str) -> Result<Pulled, Error> {
        let (remote, spec) = (remote.clone(), self.object.spec.clone());
        let digest = digest_text(revision).to_owned();
        let folder = self.context.settings.storage.clone();
        let settings = &self.context.settings;
        let most = Most {
            content: settings.fetches.bytes,
            artifact: settings.artifacts.as_ref().and_then(|artifacts| artifacts.max_size),
        };
        let budget = settings.fetches.of(&self.request.object.name.namespace);
        asking(move || pull(&remote, &spec, &digest, &folder, most, &budget)).await
    }

    async fn make(&mut self, status: &mut Status, revision: &str, pulled: Pulled) -> Result<(), Error> {
        let spec = &self.object.spec;
        let observed = OciRepositoryStatus {
            artifact: None,
            observed_ignore: spec.ignore.clone(),
            observed_layer_selector: spec.layer_selector.clone(),
        };
        let (storage, name) = (self.storage.clone(), self.request.object.name.clone());
        let (ignore, revision) = (spec.ignore.clone(), revision.to_owned());
        let made = move || make(&storage, &name, ignore.as_deref(), &revision, pulled);
        let artifact = blocking_step(made).await?;
        self.store(status, &artifact, observed);
        Ok(())
    }

    /// Whether the artifact is of this revision and spec (`ociContentConfigChanged`).
    fn is_current(&self, status: &Status, revision: &str) -> bool {
        let (spec, observed) = (&self.object.spec, &self.observed);
        artifacts::is_of(status, revision)
            && spec.ignore == observed.observed_ignore
            && spec.layer_selector == observed.observed_layer_selector
    }

    /// What an event says of a new artifact.
    fn news(&self, status: &Status) -> String {
        let artifact = artifacts::current(status).unwrap_or_default();
        let url = &self.object.spec.url;
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
