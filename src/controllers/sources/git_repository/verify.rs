//! Signatures of a GitRepository's commit and tag (source-controller v1.9, `verifySignature`).

use std::collections::BTreeMap;

use serde_json::json;

use super::error::Error;
use super::fetch::Fetched;
use crate::controllers::sources::status::VERIFIED;
use bumpwright_api::{GitRepository, GitVerification, Is, ObjectName, Objects};
use bumpwright_artifact::Algorithm;
use bumpwright_runtime::{EventType, ReconcileRequest, Status, clock};
use bumpwright_verify::object::ObjectFormat;
use bumpwright_verify::{CheckedOut, GitKeys, GitMode, ReferencingTag, verify_source};

/// The Secret with public keys.
pub(crate) fn secret(repository: &GitRepository) -> Option<ObjectName> {
    let reference = wanted(repository)?.secret_ref.as_ref()?;
    Some(ObjectName::new(
        repository.metadata.namespace_or_default(),
        &reference.name,
    ))
}

/// Whether signatures have to be looked at that were not (`requiresVerification`).
pub(crate) fn is_due(repository: &GitRepository, observed: Option<&str>) -> bool {
    let Some(verify) = &repository.spec.verify else {
        return false;
    };
    GitMode::read(verify.mode()).is_some_and(|mode| mode.is_due(observed))
}

/// What is verified, and how.
pub(crate) fn mode(repository: &GitRepository) -> Option<&str> {
    wanted(repository).map(GitVerification::mode)
}

fn wanted(repository: &GitRepository) -> Option<&GitVerification> {
    repository.spec.verify.as_ref().filter(|verify| !verify.mode.is_empty())
}

/// Looks at the signatures that the spec wants to see.
///
/// # Errors
/// When one of them is missing or wrong.
pub(crate) fn verify(
    request: &ReconcileRequest<'_>,
    status: &mut Status,
    repository: &GitRepository,
    objects: &Objects,
    fetched: &Fetched,
) -> Result<(), Error> {
    let Some(verify) = wanted(repository) else {
        status.fields.remove("sourceVerificationMode");
        status.conditions.remove(VERIFIED);
        return Ok(());
    };
    let message = verified(verify, repository, objects, fetched)?;
    let mode = json!(verify.mode());
    status.fields.insert("sourceVerificationMode".to_owned(), mode);
    status.conditions.set(VERIFIED, Is::True, "Succeeded", &message);
    request.event(EventType::Trace, "Succeeded", message, BTreeMap::new());
    Ok(())
}

fn verified(
    verify: &GitVerification,
    repository: &GitRepository,
    objects: &Objects,
    fetched: &Fetched,
) -> Result<String, Error> {
    let name = secret(repository).map(|name| name.name).unwrap_or_default();
    let secret = secret(repository).and_then(|name| objects.secret(&name));
    let Some(secret) = secret else {
        return Err(Error::VerificationError(format!("secrets {name:?} not found")));
    };
    let entries = secret.entries();
    let keys = GitKeys::from_entries(entries.map_err(|error| Error::VerificationError(error.to_string()))?);
    let commit = &fetched.commit;
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
