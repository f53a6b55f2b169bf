//! Revisions of sources: `main@sha1:5394…`, and the form before Flux 2.0, `main/5394…` (C04).
//!
//! The old form is read as by source-controller's v1beta2 (`TransformLegacyRevision`).

use super::digest::{Algorithm, Digest};
use std::fmt;

/// The revision of a source: a reference and a hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Revision {
    /// The branch, tag or reference; empty if absent.
    pub name: String,
    /// The algorithm of the hash.
    pub algorithm: Algorithm,
    /// The hash in hexadecimal digits.
    pub hash: String,
}

impl Revision {
    /// Parses either form; `None` when the text is not a revision. The hash is after the last `@` (in the old form:
    /// `/`), so that names may contain these characters.
    ///
    /// ```
    /// use bumpwright_artifact::Revision;
    /// let revision = Revision::parse("feature/a@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e738").unwrap();
    /// assert_eq!(revision.name, "feature/a");
    /// assert_eq!(Revision::parse("feature/a/5394cb7f48332b2de7c17dd8b8384bbc84b7e738"), Some(revision));
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if !text.contains(':') {
            return Self::parse_old(text);
        }
        let (name, digest) = match text.rsplit_once('@') {
            Some((name, digest)) => (Some(name).filter(|name| !name.is_empty())?, digest),
            None => ("", text),
        };
        let digest: Digest = digest.parse().ok()?;
        Some(Self {
            name: name.to_owned(),
            algorithm: digest.algorithm(),
            hash: digest.hex().to_owned(),
        })
    }

    /// Parses `main/<hash>`, `HEAD/<hash>` or `<hash>`, where the number of digits decides the algorithm.
    fn parse_old(text: &str) -> Option<Self> {
        let (name, hash) = match text.rsplit_once('/') {
            Some(("HEAD", hash)) => ("", hash),
            Some((name, hash)) => (Some(name).filter(|name| !name.is_empty())?, hash),
            None => ("", text),
        };
        let is_hex = hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let mut algorithms = [Algorithm::Sha1, Algorithm::Sha256].into_iter();
        let algorithm = algorithms.find(|algorithm| is_hex && algorithm.hex_len() == hash.len())?;
        Some(Self {
            name: name.to_owned(),
            algorithm,
            hash: hash.to_owned(),
        })
    }
}

/// The current form: `<name>@<algorithm>:<hash>`, or `<algorithm>:<hash>` alone.
impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(f, "{}@", self.name)?;
        }
        write!(f, "{}:{}", self.algorithm, self.hash)
    }
}

/// A revision in the current form. A text that is not a revision stays as it is.
#[must_use]
pub fn modern(text: &str) -> String {
    Revision::parse(text).map_or_else(|| text.to_owned(), |revision| revision.to_string())
}

/// The digest in the revision of an OCI artifact or a bucket: the part after the last `@` of `v1@sha256:…`, or all of
/// `sha256:…`.
#[must_use]
pub fn digest_text(text: &str) -> &str {
    text.rsplit_once('@').map_or(text, |(_, digest)| digest)
}
