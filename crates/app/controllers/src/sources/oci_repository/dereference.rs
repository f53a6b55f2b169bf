//! The objects that an OCIRepository refers to: Secrets and a ServiceAccount, and the connection that they give.

use std::sync::Arc;

use super::error::Error;
use super::remote;
use crate::dereference;
use crate::older_keys;
use crate::sources::source::{SourceRequest, run_on_network};
use bumpwright_api::{Objects, OciRepository, Reason};
use bumpwright_source::OciRemote;

/// The Secrets and ServiceAccounts.
pub(super) async fn objects(request: &SourceRequest<'_, OciRepository>) -> Result<Objects, Error> {
    let dereferenced = dereference::of(&request.sources.shared, &request.object).await;
    let objects =
        dereferenced.map_err(|error| Error::AuthenticationFailed(format!("failed to get credential: {error}")))?;
    let spec = &request.object.spec;
    if let Some(reference) = &spec.secret_ref
        && objects.secret(&request.beside(&reference.name)).is_none()
    {
        let message = format!("auth secret '{}' not found", reference.name);
        request.trace(Reason::AuthenticationFailed, message);
    }
    older_keys::tell(request.request, &objects, &spec.cert_secret_ref);
    Ok(objects)
}

/// The registry described by the spec and these objects.
pub(super) async fn remote(request: &SourceRequest<'_, OciRepository>, objects: &Objects) -> Result<OciRemote, Error> {
    let (sources, repository, objects) = (Arc::clone(request.sources), request.object.clone(), objects.clone());
    run_on_network(move || remote::remote(sources.registries(), &repository, &objects)).await
}
