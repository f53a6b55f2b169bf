//! Signatures of an OCIRepository's image (source-controller v1.10, `verifySignature`).

use super::error::Error;
use super::signature_error::SignatureError;
use crate::sources::artifacts;
use crate::sources::source::{Source, SourceRequest};
use crate::sources::status::VERIFIED;
use bumpwright_api::{Objects, OciRepository, OciVerification, TRUSTED_ROOT};
use bumpwright_artifact::revision::digest_text;
use bumpwright_re2::Regexp;
use bumpwright_runtime::{Status, blocking, clock};
use bumpwright_source::{OciRemote, verify_cosign, verify_notation};
use bumpwright_verify::cosign::{self, CosignKeys, Verifier};
use bumpwright_verify::image_fingerprint;
use bumpwright_verify::notation::{NotationTrust, Verdict};
use bumpwright_verify::sigstore::{Identity, Keyless, Pattern, TrustedRoot};

/// The most identities that are accepted. Each takes two compiled patterns while signatures are verified.
pub(super) const MAX_IDENTITIES: usize = 100;

/// The result of a verification without failures.
pub(super) enum Verification {
    /// The spec has none.
    NotRequested,
    /// Already verified for this revision and generation.
    Done,
    /// The trust policy lets it pass, unverified.
    Ignored,
    /// The message of the condition, and the fingerprint of what was trusted.
    Verified { message: String, fingerprint: String },
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
    let fingerprint = fingerprint(request, verify, objects);
    let is_trusted = fingerprint.is_some() && fingerprint == request.observed.source_verification_fingerprint;
    if is_done && is_trusted && artifacts::is_of(status, revision) {
        return Ok(Verification::Done);
    }
    match signatures(request, verify, remote, objects, revision).await {
        Ok(Verdict::Verified) => Ok(Verification::Verified {
            message: cosign::verified_message(revision),
            fingerprint: fingerprint.unwrap_or_default(),
        }),
        Ok(Verdict::Ignored) => Ok(Verification::Ignored),
        Err(why) => {
            let keyless = verify.provider == "cosign" && verify.secret_ref.is_none();
            let keyless = if keyless { " keyless" } else { "" };
            let provider = &verify.provider;
            Err(Error::Unverified(format!(
                "failed to verify the signature using provider '{provider}{keyless}': {why}"
            )))
        }
    }
}

/// The fingerprint of what is trusted; None where that cannot be read, which the verification reports.
fn fingerprint(
    request: &SourceRequest<'_, OciRepository>,
    verify: &OciVerification,
    objects: &Objects,
) -> Option<String> {
    let secret = |name: &str| objects.secret(&request.beside(name));
    let entries = match &verify.secret_ref {
        Some(reference) => Some(secret(&reference.name)?.entries().ok()?),
        None => None,
    };
    let root = match &verify.trusted_root_secret_ref {
        Some(reference) if verify.provider == "cosign" => Some(secret(&reference.name)?.get(TRUSTED_ROOT).ok()??),
        _ => None,
    };
    Some(image_fingerprint(&verify.provider, entries.as_deref(), root))
}

async fn signatures(
    request: &SourceRequest<'_, OciRepository>,
    verify: &OciVerification,
    remote: &OciRemote,
    objects: &Objects,
    revision: &str,
) -> Result<Verdict, SignatureError> {
    let digest = digest_text(revision);
    let trusted = trusted(request, verify, objects, &remote.name(&format!("@{digest}")))?;
    verdict(trusted, remote, digest).await
}

/// Whose signatures count, of whichever provider.
pub(in crate::sources) enum Trusted {
    Cosign(Verifier),
    Notation(NotationTrust),
}

/// Whose signatures count; `named` is what a spec without a Secret is called.
pub(in crate::sources) fn trusted<S: Source>(
    request: &SourceRequest<'_, S>,
    verify: &OciVerification,
    objects: &Objects,
    named: &str,
) -> Result<Trusted, SignatureError> {
    match verify.provider.as_str() {
        "cosign" => cosign_verifier(request, verify, objects).map(Trusted::Cosign),
        "notation" => notation_trust(request, verify, objects, named).map(Trusted::Notation),
        other => Err(SignatureError::UnknownProvider(other.to_owned())),
    }
}

/// Whether the image with a digest has a signature that counts.
pub(in crate::sources) async fn verdict(
    trusted: Trusted,
    remote: &OciRemote,
    digest: &str,
) -> Result<Verdict, SignatureError> {
    let (remote, digest) = (remote.clone(), digest.to_owned());
    let now = clock::now().unix_seconds();
    let ask = move || match trusted {
        Trusted::Cosign(verifier) => {
            verify_cosign(&remote, &digest, &verifier)?;
            Ok(Verdict::Verified)
        }
        Trusted::Notation(trust) => Ok(verify_notation(&remote, &digest, &trust, now)?),
    };
    blocking::ask(ask).await?
}

/// Whose signatures of cosign count: by the keys of a Secret, or without one by identities.
fn cosign_verifier<S: Source>(
    request: &SourceRequest<'_, S>,
    verify: &OciVerification,
    objects: &Objects,
) -> Result<Verifier, SignatureError> {
    let Some(reference) = &verify.secret_ref else {
        let root = trusted_root(request, verify, objects)?;
        return Ok(Verifier::keyless(Keyless::new(root, identities(verify)?)));
    };
    let entries = entries(request, &reference.name, objects)?;
    Ok(Verifier::of_keys(CosignKeys::from_entries(entries)))
}

/// Whose signatures of Notation count.
fn notation_trust<S: Source>(
    request: &SourceRequest<'_, S>,
    verify: &OciVerification,
    objects: &Objects,
    named: &str,
) -> Result<NotationTrust, SignatureError> {
    let Some(reference) = &verify.secret_ref else {
        return Err(SignatureError::NoReference(named.to_owned()));
    };
    let entries = entries(request, &reference.name, objects)?;
    let name = request.beside(&reference.name).to_string();
    Ok(NotationTrust::read(&name, entries)?)
}

fn entries<'a, S: Source>(
    request: &SourceRequest<'_, S>,
    name: &str,
    objects: &'a Objects,
) -> Result<Vec<(&'a str, &'a [u8])>, SignatureError> {
    let secret = objects.secret(&request.beside(name));
    let secret = secret.ok_or_else(|| SignatureError::NoSecret(name.to_owned()))?;
    Ok(secret.entries()?)
}

/// The trusted root of a Secret; without one that of Sigstore's public instance.
fn trusted_root<S: Source>(
    request: &SourceRequest<'_, S>,
    verify: &OciVerification,
    objects: &Objects,
) -> Result<TrustedRoot, SignatureError> {
    let Some(reference) = &verify.trusted_root_secret_ref else {
        return Ok(TrustedRoot::public());
    };
    let name = request.beside(&reference.name);
    let Some(secret) = objects.secret(&name) else {
        return Err(SignatureError::NoRootSecret(name));
    };
    match secret.get(TRUSTED_ROOT) {
        Ok(Some(text)) => Ok(TrustedRoot::read(text)?),
        Ok(None) => Err(SignatureError::NoRoot(name)),
        Err(cause) => {
            let cause = cause.into();
            Err(SignatureError::RootSecret { name, cause })
        }
    }
}

/// The identities that are accepted: as in Flux, there has to be one. (Flux accepts any for signatures of cosign 2.)
fn identities(verify: &OciVerification) -> Result<Vec<Identity>, SignatureError> {
    if verify.match_oidc_identity.is_empty() {
        return Err(SignatureError::NoIdentity);
    }
    if verify.match_oidc_identity.len() > MAX_IDENTITIES {
        return Err(SignatureError::TooManyIdentities(verify.match_oidc_identity.len()));
    }
    let pattern = |text: &str| Regexp::new(text).map(Pattern::Found);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn identities_are_some_and_not_too_many() {
        let verify = |count: usize| -> OciVerification {
            let one = json!({"issuer": "^https://a$", "subject": "^b$"});
            serde_json::from_value(json!({"provider": "cosign", "matchOIDCIdentity": vec![one; count]})).unwrap()
        };
        assert_eq!(identities(&verify(100)).unwrap().len(), 100);
        let error = identities(&verify(101)).unwrap_err().to_string();
        assert!(
            error.starts_with("spec.verify.matchOIDCIdentity has 101 identities, 100 are allowed"),
            "{error}"
        );
        assert!(identities(&verify(0)).is_err());
    }
}
