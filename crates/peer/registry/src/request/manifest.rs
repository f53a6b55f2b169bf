//! Manifests and indexes (image-spec v1.1; "Image Manifest V 2, Schema 2"), with the fields used here.

use serde::Deserialize;
use sha2::{Digest as _, Sha256, Sha512};
use ureq::http::Method;

use super::session::{Query, Session};
use crate::RegistryError;
use bumpwright_budget::{Few, FewTexts};
use bumpwright_http::Answer;
use bumpwright_policy::Identifier;

/// The largest manifest, in bytes (distribution-spec v1.1, *Pushing Manifests*, requires registries to accept so much).
pub(crate) const LIMIT: usize = 4 << 20;

/// The accepted media types, in the order of go-containerregistry.
const ACCEPT: &str = "application/vnd.docker.distribution.manifest.v1+json,\
    application/vnd.docker.distribution.manifest.v1+prettyjws,\
    application/vnd.docker.distribution.manifest.v2+json,\
    application/vnd.oci.image.manifest.v1+json,\
    application/vnd.docker.distribution.manifest.list.v2+json,\
    application/vnd.oci.image.index.v1+json";

/// The most layers of a manifest, images of an index, and annotations: more than any registry has, and little memory.
pub(crate) const MOST: usize = 16_384;

/// The descriptors of a manifest.
pub(crate) type Descriptors = Few<Descriptor, MOST>;

/// A manifest or an index.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) config: Option<Descriptor>,
    pub(crate) manifests: Option<Descriptors>,
    pub(crate) annotations: FewTexts<MOST>,
    pub(crate) layers: Option<Descriptors>,
}

/// A descriptor in a manifest.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) digest: String,
    pub(crate) platform: Option<Platform>,
    pub(crate) media_type: String,
    /// In bytes.
    pub(crate) size: u64,
    /// The embedded content, in base64 (image-spec v1.1, *Descriptors*).
    pub(crate) data: Option<String>,
}

/// The platform of an image in an index.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct Platform {
    pub(crate) os: String,
    pub(crate) architecture: String,
}

/// The query for the manifest of a tag or digest.
///
/// # Errors
/// When the address is not valid.
pub(crate) fn query(session: &Session<'_>, method: Method, identifier: &str) -> Result<Query, RegistryError> {
    Ok(Query {
        method,
        url: session.endpoint(&format!("manifests/{identifier}"))?,
        accept: Some(ACCEPT),
        limit: LIMIT,
    })
}

/// The manifest of the session's image, verified when it has a digest.
///
/// # Errors
/// When it cannot be fetched, or does not match its digest.
pub(crate) fn of_image(session: &mut Session<'_>) -> Result<Answer, RegistryError> {
    let image = session.image;
    let answer = session.fetch(&query(session, Method::GET, image.identifier().as_str())?)?;
    if let Identifier::Digest(wanted) = image.identifier() {
        check("manifest", wanted, &answer.body, session)?;
    }
    Ok(answer)
}

/// The manifest of a digest, verified.
pub(crate) fn by_digest(session: &mut Session<'_>, digest: &str) -> Result<Answer, RegistryError> {
    let answer = session.fetch(&query(session, Method::GET, digest)?)?;
    check("manifest", digest, &answer.body, session)?;
    Ok(answer)
}

/// Parses a manifest or an index.
///
/// # Errors
/// [`RegistryError::Malformed`]
pub(crate) fn read(session: &Session<'_>, answer: &Answer) -> Result<Manifest, RegistryError> {
    parsed(&answer.body).map_err(|error| {
        let detail = format!("the answer is not a manifest: {error}");
        session.malformed(&Method::GET, answer, &detail)
    })
}

/// Why bytes are not a manifest.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("it has more than {MOST} parts")]
    TooMany,
}

/// Parses the bytes of a manifest or an index.
pub(crate) fn parsed(bytes: &[u8]) -> Result<Manifest, ManifestError> {
    let manifest: Manifest = serde_json::from_slice(bytes)?;
    let too_many = |list: &Option<Descriptors>| list.as_ref().is_some_and(|list| list.left_out > 0);
    if too_many(&manifest.layers) || too_many(&manifest.manifests) {
        Err(ManifestError::TooMany)
    } else {
        Ok(manifest)
    }
}

/// Checks that bytes match a digest.
///
/// # Errors
/// [`RegistryError::Digest`] when they do not, or the algorithm is not supported.
pub(crate) fn check(
    what: &'static str,
    wanted: &str,
    bytes: &[u8],
    session: &Session<'_>,
) -> Result<(), RegistryError> {
    let digest = match wanted.split_once(':') {
        Some(("sha512", _)) => format!("sha512:{}", hex(&Sha512::digest(bytes))),
        _ => sha256(bytes),
    };
    same(what, wanted, &digest, session)
}

/// Checks that a digest is the wanted one.
///
/// # Errors
/// [`RegistryError::Digest`] when it is not.
pub(crate) fn same(what: &'static str, wanted: &str, found: &str, session: &Session<'_>) -> Result<(), RegistryError> {
    if found == wanted {
        return Ok(());
    }
    Err(RegistryError::Digest {
        what,
        found: found.to_owned(),
        wanted: wanted.chars().take(200).collect(),
        image: session.image.text().to_owned(),
    })
}

/// `sha256:HEX` of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Whether a text is `sha256:HEX`.
pub(crate) fn is_sha256(digest: &str) -> bool {
    is_digest(digest, "sha256", 64)
}

/// Whether a digest has a supported form.
pub(crate) fn is_checkable(digest: &str) -> bool {
    is_sha256(digest) || is_digest(digest, "sha512", 128)
}

fn is_digest(text: &str, algorithm: &str, length: usize) -> bool {
    text.split_once(':').is_some_and(|(name, hex)| {
        name == algorithm && hex.len() == length && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A descriptor takes forty times the bytes of an empty one.
    #[test]
    fn manifests_of_millions_of_parts_are_refused() {
        let manifest = |field: &str, parts: usize| format!(r#"{{"{field}":[{}{{}}]}}"#, "{},".repeat(parts - 1));
        for field in ["layers", "manifests"] {
            assert!(parsed(manifest(field, MOST).as_bytes()).is_ok());
            let error = parsed(manifest(field, MOST + 1).as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), "it has more than 16384 parts");
        }
        assert!(parsed(br#"{"layers":null,"annotations":{"a":"b"}}"#).is_ok());
    }

    #[test]
    fn forms_of_digests() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
        assert!(is_sha256(empty));
        assert!(!is_sha256(&empty.to_uppercase()));
        assert!(!is_sha256(&format!("{empty}0")));
        assert!(!is_checkable("sha256:../../x"));
        assert!(is_checkable(&format!("sha512:{}", "0".repeat(128))));
    }
}
