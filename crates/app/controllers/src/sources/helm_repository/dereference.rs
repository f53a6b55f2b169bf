//! The Secrets that a HelmRepository refers to.

use super::error::Error;
use crate::dereference;
use crate::older_keys;
use crate::sources::source::SourceRequest;
use bumpwright_api::{HelmRepository, Objects};

pub(super) async fn objects(request: &SourceRequest<'_, HelmRepository>) -> Result<Objects, Error> {
    let dereferenced = dereference::of(&request.sources.shared, &request.object).await;
    let objects = dereferenced.map_err(|error| Error::AuthenticationFailed(error.to_string()))?;
    let spec = &request.object.spec;
    let references = spec.cert_secret_ref.iter().chain(&spec.secret_ref);
    older_keys::tell(request.request, &objects, references);
    Ok(objects)
}
