//! The digest of a tag.

use ureq::http::Method;

use super::manifest::{is_sha256, of_image, query, same, sha256};
use super::session::Session;
use crate::RegistryError;
use bumpwright_policy::Identifier;

/// Signed manifests of Docker before 1.10: their digest excludes the signatures.
const SIGNED: &str = "application/vnd.docker.distribution.manifest.v1+prettyjws";

/// Sends HEAD, which is cheap and not rate limited at Docker Hub, and reads the manifest only if necessary: the
/// registry does not support HEAD, or does not return the digest.
///
/// # Errors
/// When the manifest cannot be fetched, or does not match the requested digest.
pub(crate) fn of(session: &mut Session<'_>) -> Result<String, RegistryError> {
    let image = session.image;
    let head = query(session, Method::HEAD, image.identifier().as_str())?;
    let answer = match session.fetch(&head) {
        Err(error) if matches!(error.status(), Some(405 | 501)) => None,
        other => Some(other?),
    };
    let named = answer
        .as_ref()
        .and_then(|answer| answer.header("docker-content-digest"));
    let digest = match (&answer, named) {
        (_, Some(digest)) if is_sha256(digest) => digest.to_owned(),
        (Some(answer), Some(other)) if other.starts_with("sha512:") => {
            return Err(session.malformed(&Method::HEAD, answer, "unsupported hash: \"sha512\""));
        }
        _ => return read(session),
    };
    if let Identifier::Digest(wanted) = image.identifier() {
        same("manifest", wanted, &digest, session)?;
    }
    Ok(digest)
}

/// The digest for a pull: by HEAD, and by the manifest itself after any failure, so that
/// errors have the registry's message (source-controller v1.9, `getRevision`).
pub(crate) fn of_pull(session: &mut Session<'_>) -> Result<String, RegistryError> {
    let head = query(session, Method::HEAD, session.image.identifier().as_str())?;
    match session.fetch(&head) {
        Ok(answer) => match answer
            .header("docker-content-digest")
            .filter(|digest| is_sha256(digest))
        {
            Some(digest) => Ok(digest.to_owned()),
            None => read(session),
        },
        Err(error) if error.is_timeout() => Err(error),
        Err(_) => read(session),
    }
}

fn read(session: &mut Session<'_>) -> Result<String, RegistryError> {
    let answer = of_image(session)?;
    let named = answer
        .header("docker-content-digest")
        .filter(|digest| is_sha256(digest));
    Ok(match named {
        Some(named) if answer.media_type() == SIGNED => named.to_owned(),
        _ => sha256(&answer.body),
    })
}
