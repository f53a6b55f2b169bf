//! The objects that a Bucket refers to: Secrets and a ServiceAccount.

use super::error::Error;
use crate::dereference;
use crate::older_keys;
use crate::sources::source::SourceRequest;
use bumpwright_api::{Bucket, Objects};

/// The Secrets and the ServiceAccount.
pub(super) async fn objects(request: &SourceRequest<'_, Bucket>) -> Result<Objects, Error> {
    let dereferenced = dereference::of(&request.sources.shared, &request.object).await;
    let objects = dereferenced.map_err(|error| Error::AuthenticationFailed(error.to_string()))?;
    let spec = &request.object.spec;
    let of_sts = spec.sts.iter().filter_map(|sts| sts.cert_secret_ref.as_ref());
    older_keys::tell(request.request, &objects, spec.cert_secret_ref.iter().chain(of_sts));
    Ok(objects)
}
