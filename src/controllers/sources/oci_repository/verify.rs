//! Signatures of an OCIRepository's image (source-controller v1.9, `verifySignature`).

use super::error::Error;
use crate::controllers::sources::artifacts;
use crate::controllers::sources::source::SourceRequest;
use crate::controllers::sources::status::VERIFIED;
use bumpwright_api::{Objects, OciRepository, OciVerification};
use bumpwright_artifact::revision::digest_text;
use bumpwright_runtime::{Status, blocking};
use bumpwright_source::{OciRemote, verify_cosign};
use bumpwright_verify::cosign::{self, CosignError, CosignKeys};

/// The result of a verification without failures.
pub(super) enum Verification {
    /// The spec has none.
    NotRequested,
    /// Already verified for this revision and generation.
    Done,
    /// The message of the condition.
    Verified { message: String },
}

/// Verifies the signatures of an image, unless that was done before.
pub(super) async fn image(
    request: &SourceRequest<'_, OciRepository>,
    status: &Status,
    remote: &OciRemote,
    objects: &Objects,
    revision: &str,
) -> Result<Verification, Error> {
    let Some(verify) = &request.object.spec.verify else {
        return Ok(Verification::NotRequested);
    };
    let generation = request.request.object.generation;
    let verified = status.conditions.get(VERIFIED);
    let is_done = verified.is_some_and(|verified| verified.observed_generation == Some(generation));
    if is_done && artifacts::is_of(status, revision) {
        return Ok(Verification::Done);
    }
    match signatures(request, verify, remote, objects, revision).await {
        Ok(()) => Ok(Verification::Verified {
            message: cosign::verified_message(revision),
        }),
        Err(error) => {
            let message = error.message(&verify.provider, verify.secret_ref.is_some());
            Err(Error::Unverified(message))
        }
    }
}

async fn signatures(
    request: &SourceRequest<'_, OciRepository>,
    verify: &OciVerification,
    remote: &OciRemote,
    objects: &Objects,
    revision: &str,
) -> Result<(), CosignError> {
    cosign::check_provider(&verify.provider, verify.secret_ref.is_some())?;
    let Some(reference) = &verify.secret_ref else {
        return Err(CosignError::Keyless);
    };
    let name = request.beside(&reference.name);
    let missing = || CosignError::Key(format!("secrets {:?} not found", name.name));
    let secret = objects.secret(&name).ok_or_else(missing)?;
    let keys = CosignKeys::from_entries(secret.entries().map_err(|error| CosignError::Key(error.to_string()))?);
    let (remote, digest) = (remote.clone(), digest_text(revision).to_owned());
    let verified = blocking::ask(move || verify_cosign(&remote, &digest, &keys)).await;
    verified.unwrap_or_else(|error| Err(CosignError::Manifest(error)))
}
