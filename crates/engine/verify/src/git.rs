//! Verification of a Git source and its messages: `verifySignature` of source-controller v1.9.3
//! (`internal/controller/gitrepository_controller.go`).

use std::fmt;
use std::str::FromStr;

use crate::armour::SignatureKind;
use crate::object::{self, ObjectFormat, SignedObject};
use crate::openpgp::{self, OpenPgpError};
use crate::ssh::{self, SshError};
use bumpwright_reason::Reason;

/// Suffix of the entries of a Secret with SSH keys.
pub(super) const SSH_SUFFIX: &str = ".sshpub";

/// The public keys of a Secret: entries that end in `.sshpub` in the form of `authorized_keys`, all others (`.asc`, by
/// convention) armoured key rings.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct GitKeys {
    rings: Vec<String>,
    authorized: Vec<String>,
}

impl GitKeys {
    /// Collects the keys of a Secret's data (name and content of entries), which are tried in the order of the names.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_unstable();
        let mut keys = Self::default();
        for (name, content) in entries {
            let text = String::from_utf8_lossy(content).into_owned();
            if name.ends_with(SSH_SUFFIX) {
                keys.authorized.push(text);
            } else {
                keys.rings.push(text);
            }
        }
        keys
    }
}

impl fmt::Debug for GitKeys {
    /// Prints only counts: an entry may hold a private key by mistake.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rings, authorized) = (self.rings.len(), self.authorized.len());
        write!(f, "{rings} key rings, {authorized} texts of authorized keys")
    }
}

/// The kind of an object to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    Commit,
    Tag,
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commit => "commit",
            Self::Tag => "tag",
        })
    }
}

/// The name of a kind of objects that have no signatures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("objects of kind {0:?} have no signatures; give a commit or a tag")]
pub struct UnsignedKind(pub String);

impl FromStr for ObjectKind {
    type Err = UnsignedKind;

    fn from_str(name: &str) -> Result<Self, UnsignedKind> {
        match name {
            "commit" => Ok(Self::Commit),
            "tag" => Ok(Self::Tag),
            other => Err(UnsignedKind(other.to_owned())),
        }
    }
}

/// Errors of verifying an object, with upstream's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The Secret has only SSH keys.
    #[error("PGP signature detected but no PGP public keys found in secret (keys with .asc suffix)")]
    NoKeyRings,
    /// The Secret has no SSH keys.
    #[error("SSH signature detected but no SSH public keys found in secret (keys with .sshpub suffix)")]
    NoAuthorizedKeys,
    /// The object is not signed, or with an unsupported kind of signature.
    #[error("unsupported signature type: {0}")]
    Unsupported(SignatureKind),
    /// The OpenPGP signature was not accepted.
    #[error("unable to verify Git {kind}: {error}")]
    OpenPgp {
        /// The kind of the object.
        kind: ObjectKind,
        error: OpenPgpError,
    },
    /// The SSH signature was not accepted.
    #[error("unable to verify Git {kind} SSH signature: {error}")]
    Ssh {
        /// The kind of the object.
        kind: ObjectKind,
        error: SshError,
    },
}

/// Verifies an object at `now` (seconds since 1970-01-01 UTC). Returns the key: its id (OpenPGP) or fingerprint (SSH).
///
/// # Errors
/// [`ObjectError`] when no key was accepted.
pub fn verify_object(object: &SignedObject, kind: ObjectKind, keys: &GitKeys, now: i64) -> Result<String, ObjectError> {
    let SignedObject { payload, signature } = object;
    match SignatureKind::of(signature) {
        SignatureKind::OpenPgp if keys.rings.is_empty() => Err(ObjectError::NoKeyRings),
        SignatureKind::OpenPgp => {
            let rings: Vec<&str> = keys.rings.iter().map(String::as_str).collect();
            openpgp::verify(signature, payload, &rings, now).map_err(|error| ObjectError::OpenPgp { kind, error })
        }
        SignatureKind::Ssh if keys.authorized.is_empty() => Err(ObjectError::NoAuthorizedKeys),
        SignatureKind::Ssh => {
            let authorized: Vec<&str> = keys.authorized.iter().map(String::as_str).collect();
            ssh::verify(signature, payload, &authorized).map_err(|error| ObjectError::Ssh { kind, error })
        }
        other => Err(ObjectError::Unsupported(other)),
    }
}

/// `spec.verify.mode` of a GitRepository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitMode {
    /// The commit that is checked out.
    Head,
    /// The tag that refers to it.
    Tag,
    TagAndHead,
}

impl GitMode {
    /// Parses the mode. `None` if it is empty: nothing is verified then. `head` of older API versions and any other
    /// text mean HEAD, as upstream.
    #[must_use]
    pub fn read(mode: &str) -> Option<Self> {
        match mode {
            "" => None,
            "Tag" => Some(Self::Tag),
            "TagAndHEAD" => Some(Self::TagAndHead),
            _ => Some(Self::Head),
        }
    }

    /// The text in `status.sourceVerificationMode`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Head => "HEAD",
            Self::Tag => "Tag",
            Self::TagAndHead => "TagAndHEAD",
        }
    }

    /// Whether an otherwise unchanged source that was verified in mode `observed` (of its status) has to
    /// be verified again (`requiresVerification`).
    #[must_use]
    pub fn is_due(self, observed: Option<&str>) -> bool {
        match observed {
            None => true,
            Some("Tag") => self != Self::Tag,
            Some("HEAD") => self != Self::Head,
            Some(_) => false,
        }
    }
}

/// The tag that a commit was found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferencingTag<'a> {
    /// A tag without a tag object.
    Lightweight {
        /// Its name without `refs/tags/`.
        name: &'a str,
    },
    Annotated {
        /// The object id in hexadecimal digits.
        id: &'a str,
        /// The content of the object.
        raw: &'a [u8],
    },
}

/// A commit to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedOut<'a> {
    /// The commit id in hexadecimal digits.
    pub id: &'a str,
    /// The content of the object.
    pub raw: &'a [u8],
    /// The object format of the repository.
    pub format: ObjectFormat,
    /// The tag that the spec refers to, by `ref.tag`, `ref.semver` or a `ref.name` below `refs/tags/`.
    pub tag: Option<ReferencingTag<'a>>,
}

/// Errors of verifying a source: the message and [`GitVerifyError::reason`] of its `SourceVerified=False`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitVerifyError {
    /// The mode requires a tag, and the spec does not refer to one. Only a change of the spec helps.
    #[error("cannot verify tag object's signature if a tag reference is not specified")]
    NoTag,
    /// The tag has no signature.
    #[error("cannot verify signature of tag '{0}' since it is not signed")]
    TagNotSigned(String),
    /// The tag's signature was not accepted.
    #[error("signature verification of tag '{tag}' failed: {error}")]
    Tag {
        /// Name and id of the tag.
        tag: String,
        error: ObjectError,
    },
    /// The commit's signature was not accepted.
    #[error("signature verification of commit '{commit}' failed: {error}")]
    Commit { commit: String, error: ObjectError },
}

impl GitVerifyError {
    /// The reason of the condition.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            Self::NoTag => Reason::InvalidVerificationMode,
            Self::TagNotSigned(_) => Reason::InvalidGitObject,
            Self::Tag { .. } => Reason::InvalidTagSignature,
            Self::Commit { .. } => Reason::InvalidCommitSignature,
        }
    }

    /// Whether the object is stalled: a retry does not help before its spec changes.
    #[must_use]
    pub const fn is_stalling(&self) -> bool {
        matches!(self, Self::NoTag)
    }
}

/// Verifies a source in a mode at `now` (seconds since 1970-01-01 UTC). Returns the message of `SourceVerified=True`,
/// whose reason is `Succeeded`.
///
/// # Errors
/// [`GitVerifyError`], for the first object that is not verified.
pub fn verify_source(
    mode: GitMode,
    source: &CheckedOut<'_>,
    keys: &GitKeys,
    now: i64,
) -> Result<String, GitVerifyError> {
    let mut message = "verified signature of".to_owned();
    if mode != GitMode::Head {
        let (tag, key) = verify_tag(source, keys, now)?;
        message.push_str(&format!("\n\t- tag '{tag}' with key '{key}'"));
    }
    if mode != GitMode::Tag {
        let commit = source.id;
        let split = object::commit(source.raw, source.format);
        let key = verify_object(&split, ObjectKind::Commit, keys, now).map_err(|error| GitVerifyError::Commit {
            commit: commit.to_owned(),
            error,
        })?;
        message.push_str(&format!("\n\t- commit '{commit}' with key '{key}'"));
    }
    Ok(message)
}

/// Verifies the tag. Returns its name and id, and the key that signed it.
fn verify_tag(source: &CheckedOut<'_>, keys: &GitKeys, now: i64) -> Result<(String, String), GitVerifyError> {
    let (id, raw) = match source.tag {
        None => return Err(GitVerifyError::NoTag),
        Some(ReferencingTag::Lightweight { name }) => return Err(GitVerifyError::TagNotSigned(name.to_owned())),
        Some(ReferencingTag::Annotated { id, raw }) => (id, raw),
    };
    let name = object::header(raw, "tag").unwrap_or_default();
    let tag = format!("{name}@{id}");
    let split = object::tag(raw);
    if split.signature.is_empty() {
        return Err(GitVerifyError::TagNotSigned(tag));
    }
    match verify_object(&split, ObjectKind::Tag, keys, now) {
        Ok(key) => Ok((tag, key)),
        Err(error) => Err(GitVerifyError::Tag { tag, error }),
    }
}
