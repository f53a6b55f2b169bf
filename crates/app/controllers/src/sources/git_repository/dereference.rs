//! The objects that a GitRepository refers to: Secrets, a ServiceAccount and included artifacts, and its remote.

use std::sync::Arc;

use super::error::Error;
use super::remote;
use super::verify;
use crate::dereference;
use crate::older_keys;
use crate::sources::artifacts;
use crate::sources::source::{SourceRequest, run_on_network};
use bumpwright_api::{Artifact, GitRepository, Objects};
use bumpwright_connect::References;
use bumpwright_git::Remote;

/// The Secrets and ServiceAccounts.
pub(super) async fn objects(request: &SourceRequest<'_, GitRepository>) -> Result<Objects, Error> {
    let keys = verify::secret(&request.object);
    let references = References::of(&request.object, &request.sources.shared.accounts).with_secrets(keys);
    let dereferenced = dereference::read(&request.sources.shared, references).await;
    let objects = dereferenced
        .map_err(|error| Error::AuthenticationFailed(format!("failed to configure authentication options: {error}")))?;
    let spec = &request.object.spec;
    let with_certificates = spec.secret_ref.iter().chain(&spec.cert_secret_ref);
    older_keys::tell(request.request, &objects, with_certificates);
    Ok(objects)
}

/// The remote that the spec and these objects describe.
pub(super) async fn remote(request: &SourceRequest<'_, GitRepository>, objects: &Objects) -> Result<Remote, Error> {
    let (context, repository, objects) = (
        Arc::clone(&request.sources.shared),
        request.object.clone(),
        objects.clone(),
    );
    run_on_network(move || remote::remote(&context, &repository, &objects)).await
}

/// The artifacts of the included repositories, in the order of the spec.
pub(super) async fn includes(request: &SourceRequest<'_, GitRepository>) -> Result<Vec<Artifact>, Error> {
    let context = &request.sources.shared;
    let after = context.settings.requeue_dependency;
    let mut artifacts = Vec::new();
    for include in &request.object.spec.include {
        let include = include.repository.name.clone();
        let other = match context
            .watched(&request.sources.git_repositories, &request.beside(&include))
            .await
        {
            Ok(other) => other,
            Err(error) => {
                let why = if error.is_not_found() {
                    format!("GitRepository.source.toolkit.fluxcd.io {include:?} not found")
                } else {
                    error.to_string()
                };
                return Err(Error::NotFound { include, why, after });
            }
        };
        let artifact = other.status().get("artifact").and_then(artifacts::read);
        artifacts.push(artifact.ok_or(Error::NoArtifact { include, after })?);
    }
    Ok(artifacts)
}
