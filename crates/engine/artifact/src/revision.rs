//! Revisions of sources: `main@sha1:5394…`, and what was written before Flux 2.0, `main/5394…`.
//!
//! As `fluxcd/pkg/git` reads them (`SplitRevision`, `Commit.String`) and source-controller's v1beta2 moves old ones to the
//! new form (`TransformLegacyRevision`). Nothing here fails: a text that is no revision gets the answer that it gets there.

use std::fmt;

/// The two parts of a revision, borrowed from its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision<'a> {
    /// The branch, tag or reference; empty when there is none.
    pub pointer: &'a str,
    /// The hash without its algorithm; empty when there is none.
    pub hash: &'a str,
}

impl<'a> Revision<'a> {
    /// Reads either form. What is behind the last `@` or `:` counts, so branches may have these characters.
    ///
    /// ```
    /// use bumpwright_artifact::revision::Revision;
    /// let revision = Revision::parse("feature/a@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e738");
    /// assert_eq!(revision.pointer, "feature/a");
    /// assert_eq!(Revision::parse("HEAD/5394cb7f").pointer, "");
    /// ```
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        Self {
            pointer: pointer(text),
            hash: hash(text),
        }
    }

    /// The revision of a commit that `reference` led to (`refs/heads/main`; empty for a commit asked for by its hash).
    /// A reference of fewer than three parts does not show.
    #[must_use]
    pub fn of_commit(reference: &'a str, hash: &'a str) -> Self {
        let pointer = reference.splitn(3, '/').nth(2).unwrap_or("");
        Self { pointer, hash }
    }
}

impl fmt::Display for Revision<'_> {
    /// The form of today: `<pointer>@<algorithm>:<hash>`, or `<algorithm>:<hash>` alone. The algorithm follows from the length
    /// of the hash. (fluxcd/pkg/git knows 40 digits only; 64 are SHA-256 here, as they are for its other readers.)
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pointer)?;
        if !self.pointer.is_empty() {
            f.write_str("@")?;
        }
        match self.hash.len() {
            0 => Ok(()),
            40 => write!(f, "sha1:{}", self.hash),
            64 => write!(f, "sha256:{}", self.hash),
            _ => write!(f, "<unknown>:{}", self.hash),
        }
    }
}

/// A revision in the form of today, when it is one of the old form: `main/<hash>`, `HEAD/<hash>` or `<hash>`, the hash
/// with 40 or 64 digits in lower case. All else stays as it is.
#[must_use]
pub fn modern(text: &str) -> String {
    if text.contains(':') {
        return text.to_owned();
    }
    let parts = text.rsplit_once('/');
    match parts.and_then(|(name, hash)| Some((name, hash, algorithm(hash)?))) {
        Some(("HEAD", hash, algorithm)) => format!("{algorithm}:{hash}"),
        Some((name, hash, algorithm)) => format!("{name}@{algorithm}:{hash}"),
        None => algorithm(text).map_or_else(|| text.to_owned(), |algorithm| format!("{algorithm}:{text}")),
    }
}

/// Whether two revisions are one, in whichever form: v1beta2's `HasRevision`.
#[must_use]
pub fn same(one: &str, other: &str) -> bool {
    modern(one) == modern(other)
}

/// The digest in the revision of an OCI artifact or a bucket: what follows the last `@` of `v1@sha256:…`, or all of
/// `sha256:…`.
#[must_use]
pub fn digest_text(text: &str) -> &str {
    text.rsplit_once('@').map_or(text, |(_, digest)| digest)
}

/// The algorithm of a hash in lower case hexadecimal digits, by their count.
fn algorithm(hash: &str) -> Option<&'static str> {
    let is_hex = hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match hash.len() {
        40 if is_hex => Some("sha1"),
        64 if is_hex => Some("sha256"),
        _ => None,
    }
}

fn pointer(text: &str) -> &str {
    if let Some((pointer, _)) = text.rsplit_once('@') {
        return pointer;
    }
    let legacy = text.rsplit_once('/').map_or("", |(pointer, _)| pointer);
    if legacy == "HEAD" { "" } else { legacy }
}

fn hash(text: &str) -> &str {
    text.rsplit_once(':')
        .or_else(|| text.rsplit_once('/'))
        .map_or(text, |(_, hash)| hash)
}
