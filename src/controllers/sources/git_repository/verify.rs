//! Signatures of a GitRepository's commit and tag (source-controller v1.9, `verifySignature`).

use super::error::Error;
use crate::controllers::sources::source::SourceRequest;
use bumpwright_api::{GitRepository, GitVerification, ObjectName, Objects, Reason};
use bumpwright_artifact::Algorithm;
use bumpwright_runtime::clock;
use bumpwright_source::Commit;
use bumpwright_verify::object::ObjectFormat;
use bumpwright_verify::{CheckedOut, GitKeys, GitMode, ReferencingTag, verify_source};

/// The result of a verification.
pub(super) struct Verified {
    /// `status.sourceVerificationMode`
    pub(super) mode: &'static str,
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
    let message = signatures(verify, secret(repository), objects, commit)?;
    request.trace(Reason::Succeeded, message.clone());
    let mode = verify.mode();
    Ok(Some(Verified { mode, message }))
}

/// Returns the message of the verification.
fn signatures(
    verify: &GitVerification,
    secret: Option<ObjectName>,
    objects: &Objects,
    commit: &Commit,
) -> Result<String, Error> {
    let Some(keys) = secret.as_ref().and_then(|name| objects.secret(name)) else {
        let name = secret.map(|name| name.name).unwrap_or_default();
        return Err(Error::Unverified(format!("secrets {name:?} not found")));
    };
    let entries = keys.entries();
    let keys = GitKeys::from_entries(entries.map_err(|error| Error::Unverified(error.to_string()))?);
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
    Ok(verify_source(mode, &source, &keys, clock::now().unix_seconds())?)
}
