//! Signatures of a GitRepository's commit and tag (source-controller v1.10, `verifySignature`).

use super::error::Error;
use crate::sources::source::SourceRequest;
use crate::sources::status::VERIFIED;
use bumpwright_api::{ConditionStatus, GitRepository, GitVerification, ObjectName, Objects, Reason};
use bumpwright_artifact::Algorithm;
use bumpwright_runtime::{Status, clock};
use bumpwright_source::Commit;
use bumpwright_verify::object::ObjectFormat;
use bumpwright_verify::{CheckedOut, GitKeys, GitMode, ReferencingTag, git_fingerprint, verify_source};

/// The result of a verification.
pub(super) struct Verified {
    /// `status.sourceVerificationMode`
    pub(super) mode: &'static str,
    /// `status.sourceVerificationFingerprint`
    pub(super) fingerprint: String,
    /// The message of the condition and the event.
    pub(super) message: String,
}

/// The Secret with public keys.
pub(super) fn secret(repository: &GitRepository) -> Option<ObjectName> {
    let reference = requested(repository)?.secret_ref.as_ref()?;
    Some(ObjectName::new(
        repository.metadata.namespace_or_default(),
        &reference.name,
    ))
}

/// Returns whether signatures were not yet verified in this mode (`requiresVerification`).
pub(super) fn is_due(repository: &GitRepository, observed: Option<&str>) -> bool {
    let Some(verify) = &repository.spec.verify else {
        return false;
    };
    GitMode::read(verify.mode()).is_some_and(|mode| mode.is_due(observed))
}

/// The verification mode of the spec.
pub(super) fn mode(repository: &GitRepository) -> Option<&'static str> {
    requested(repository).map(GitVerification::mode)
}

fn requested(repository: &GitRepository) -> Option<&GitVerification> {
    repository.spec.verify.as_ref().filter(|verify| !verify.mode.is_empty())
}

/// Returns whether the observed commit was verified with the keys that count now. Where that cannot be
/// told, it was not.
pub(super) fn is_current(request: &SourceRequest<'_, GitRepository>, status: &Status, objects: &Objects) -> bool {
    if requested(&request.object).is_none() {
        return true;
    }
    let keys = secret(&request.object).and_then(|name| objects.secret(&name)?.entries().ok());
    let fingerprint = keys.map(|keys| git_fingerprint(&keys));
    fingerprint.is_some()
        && fingerprint == request.observed.source_verification_fingerprint
        && status.conditions.is(VERIFIED, ConditionStatus::True)
}

/// Verifies the signatures, if the spec asks for it.
///
/// # Errors
/// A missing or wrong signature.
pub(super) fn commit(
    request: &SourceRequest<'_, GitRepository>,
    objects: &Objects,
    commit: &Commit,
) -> Result<Option<Verified>, Error> {
    let repository = &request.object;
    let Some(verify) = requested(repository) else {
        return Ok(None);
    };
    let verified = signatures(verify, secret(repository), objects, commit)?;
    request.trace(Reason::Succeeded, verified.message.clone());
    Ok(Some(verified))
}

fn signatures(
    verify: &GitVerification,
    secret: Option<ObjectName>,
    objects: &Objects,
    commit: &Commit,
) -> Result<Verified, Error> {
    let Some(keys) = secret.as_ref().and_then(|name| objects.secret(name)) else {
        let name = secret.map(|name| name.name).unwrap_or_default();
        return Err(Error::Unverified(format!("secrets {name:?} not found")));
    };
    let entries = keys.entries().map_err(|error| Error::Unverified(error.to_string()))?;
    let fingerprint = git_fingerprint(&entries);
    let keys = GitKeys::from_entries(entries);
    let tag = commit.tag.as_ref().map(|tag| match &tag.object {
        Some((id, raw)) => ReferencingTag::Annotated { id, raw },
        None => ReferencingTag::Lightweight { name: &tag.name },
    });
    let source = CheckedOut {
        id: &commit.id,
        raw: &commit.bytes,
        format: match commit.revision.algorithm {
            Algorithm::Sha256 => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        },
        tag,
    };
    let mode = GitMode::read(verify.mode()).unwrap_or(GitMode::Head);
    Ok(Verified {
        mode: verify.mode(),
        fingerprint,
        message: verify_source(mode, &source, &keys, clock::now().unix_seconds())?,
    })
}
