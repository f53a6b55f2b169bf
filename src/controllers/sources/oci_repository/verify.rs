//! Signatures of an OCIRepository's image (source-controller v1.9, `verifySignature`).

use super::error::Error;
use crate::controllers::sources::artifacts;
use crate::controllers::sources::source::SourceRequest;
use crate::controllers::sources::status::VERIFIED;
use bumpwright_api::{Objects, OciRepository, OciVerification};
use bumpwright_artifact::revision::digest_text;
use bumpwright_re2::Regexp;
use bumpwright_runtime::{Status, blocking};
use bumpwright_source::{OciRemote, verify_cosign};
use bumpwright_verify::cosign::{self, CosignError, CosignKeys, Verifier};
use bumpwright_verify::sigstore::{Identity, Keyless, Pattern, TrustedRoot};

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
    cosign::check_provider(&verify.provider)?;
    let verifier = verifier(request, verify, objects)?;
    let (remote, digest) = (remote.clone(), digest_text(revision).to_owned());
    let verified = blocking::ask(move || verify_cosign(&remote, &digest, &verifier)).await;
    verified.unwrap_or_else(|error| Err(CosignError::Manifest(error)))
}

/// Whose signatures count: by the keys of a Secret, or without one by identities.
fn verifier(
    request: &SourceRequest<'_, OciRepository>,
    verify: &OciVerification,
    objects: &Objects,
) -> Result<Verifier, CosignError> {
    let Some(reference) = &verify.secret_ref else {
        let root = trusted_root(request, verify, objects).map_err(CosignError::TrustedRoot)?;
        return Ok(Verifier::keyless(Keyless::new(root, identities(verify)?)));
    };
    let name = request.beside(&reference.name);
    let missing = || CosignError::Key(format!("secrets {:?} not found", name.name));
    let secret = objects.secret(&name).ok_or_else(missing)?;
    let entries = secret.entries().map_err(|error| CosignError::Key(error.to_string()))?;
    Ok(Verifier::of_keys(CosignKeys::from_entries(entries)))
}

/// The trusted root of a Secret; without one that of Sigstore's public instance.
fn trusted_root(
    request: &SourceRequest<'_, OciRepository>,
    verify: &OciVerification,
    objects: &Objects,
) -> Result<TrustedRoot, String> {
    const KEY: &str = "trusted_root.json";
    let Some(reference) = &verify.trusted_root_secret_ref else {
        return Ok(TrustedRoot::public());
    };
    let name = request.beside(&reference.name);
    let failed = |why: String| format!("failed to read trusted root from secret '{name}': {why}");
    let secret = objects
        .secret(&name)
        .ok_or_else(|| failed(format!("secrets {:?} not found", name.name)))?;
    let text = secret.get(KEY).map_err(|error| failed(error.to_string()))?;
    let text = text.ok_or_else(|| failed(format!("'{KEY}' not found in secret '{name}'")))?;
    TrustedRoot::read(text).map_err(|error| format!("unable to parse trusted root: {error}"))
}

/// The identities that are accepted: as in Flux, there has to be one. (Flux accepts any for signatures of cosign 2.)
fn identities(verify: &OciVerification) -> Result<Vec<Identity>, CosignError> {
    if verify.match_oidc_identity.is_empty() {
        let what = "without a key, spec.verify.matchOIDCIdentity has to say who may sign";
        return Err(CosignError::Identity(what.to_owned()));
    }
    let pattern = |text: &str| match Regexp::new(text) {
        Ok(pattern) => Ok(Pattern::Found(pattern)),
        Err(error) => Err(CosignError::Identity(format!("spec.verify.matchOIDCIdentity: {error}"))),
    };
    let identities = verify.match_oidc_identity.iter();
    identities
        .map(|identity| {
            Ok(Identity {
                issuer: pattern(&identity.issuer)?,
                subject: pattern(&identity.subject)?,
            })
        })
        .collect()
}
