//! What has to be verified of a Git source, with which keys, and what is said about it: `verifySignature` of
//! source-controller v1.9.3 (`internal/controller/gitrepository_controller.go`).

use std::fmt;
use std::str::FromStr;

use crate::armour::SignatureKind;
use crate::object::{self, ObjectFormat, SignedObject};
use crate::openpgp::{self, OpenPgpError};
use crate::ssh::{self, SshError};

/// Entries of a Secret that end so are keys of SSH.
const SSH_SUFFIX: &str = ".sshpub";

/// The public keys of a Secret: entries that end in `.sshpub` in the form of `authorized_keys`, all others (`.asc`, by
/// convention) armoured key rings.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct GitKeys {
    rings: Vec<String>,
    authorized: Vec<String>,
}

impl GitKeys {
    /// Takes the entries (name and content) of a Secret's data; keys are tried in the order of the entries' names.
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
    /// Says how many: an entry may hold a private key by mistake.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rings, authorized) = (self.rings.len(), self.authorized.len());
        write!(f, "{rings} key rings, {authorized} texts of authorized keys")
    }
}

/// What is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// An annotated tag.
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

impl FromStr for ObjectKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "commit" => Ok(Self::Commit),
            "tag" => Ok(Self::Tag),
            other => Err(format!(
                "objects of kind {other:?} have no signatures; give a commit or a tag"
            )),
        }
    }
}

/// Why the signature of an object was not accepted, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The Secret has only keys of SSH.
    #[error("PGP signature detected but no PGP public keys found in secret (keys with .asc suffix)")]
    NoKeyRings,
    /// The Secret has no keys of SSH.
    #[error("SSH signature detected but no SSH public keys found in secret (keys with .sshpub suffix)")]
    NoAuthorizedKeys,
    /// The object is not signed, or in a way that nothing here verifies.
    #[error("unsupported signature type: {0}")]
    Unsupported(SignatureKind),
    /// OpenPGP.
    #[error("unable to verify Git {kind}: {error}")]
    OpenPgp {
        /// What was verified.
        kind: ObjectKind,
        /// Why not.
        error: OpenPgpError,
    },
    /// SSH.
    #[error("unable to verify Git {kind} SSH signature: {error}")]
    Ssh {
        /// What was verified.
        kind: ObjectKind,
        /// Why not.
        error: SshError,
    },
}

/// Verifies one object at `now` (seconds since 1970-01-01 UTC). Gives the key: its id (OpenPGP) or fingerprint (SSH).
///
/// # Errors
/// [`ObjectError`] says why no key was accepted.
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
    /// The tag that led to it.
    Tag,
    /// Both.
    TagAndHead,
}

impl GitMode {
    /// Reads the mode. None if it is empty, and nothing is verified then; `head` of older API versions and whatever else is
    /// there means HEAD, as upstream takes it.
    #[must_use]
    pub fn read(mode: &str) -> Option<Self> {
        match mode {
            "" => None,
            "Tag" => Some(Self::Tag),
            "TagAndHEAD" => Some(Self::TagAndHead),
            _ => Some(Self::Head),
        }
    }

    /// As `status.sourceVerificationMode` has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Head => "HEAD",
            Self::Tag => "Tag",
            Self::TagAndHead => "TagAndHEAD",
        }
    }

    /// Whether a source that was verified in `observed` (of its status) has to be verified again though nothing else has
    /// changed (`requiresVerification`).
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

/// What led to a commit, if it was a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferencingTag<'a> {
    /// A tag that is only a name.
    Lightweight {
        /// Without `refs/tags/`.
        name: &'a str,
    },
    /// A tag object.
    Annotated {
        /// The object's name in hexadecimal digits.
        id: &'a str,
        /// Its content.
        raw: &'a [u8],
    },
}

/// A commit to be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckedOut<'a> {
    /// The commit's name in hexadecimal digits.
    pub id: &'a str,
    /// Its content.
    pub raw: &'a [u8],
    /// How the repository names objects.
    pub format: ObjectFormat,
    /// The tag that was asked for, by `ref.tag`, `ref.semver` or a `ref.name` below `refs/tags/`.
    pub tag: Option<ReferencingTag<'a>>,
}

/// Why a source is not verified: the message and [`GitVerifyError::reason`] of its `SourceVerified=False`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitVerifyError {
    /// The mode asks for a tag, and the source is no tag. Nothing but a change of the object helps.
    #[error("cannot verify tag object's signature if a tag reference is not specified")]
    NoTag,
    /// The tag has no signature.
    #[error("cannot verify signature of tag '{0}' since it is not signed")]
    TagNotSigned(String),
    /// The tag's signature was not accepted.
    #[error("signature verification of tag '{tag}' failed: {error}")]
    Tag {
        /// Name and id.
        tag: String,
        /// Why not.
        error: ObjectError,
    },
    /// The commit's signature was not accepted.
    #[error("signature verification of commit '{commit}' failed: {error}")]
    Commit {
        /// Its id.
        commit: String,
        /// Why not.
        error: ObjectError,
    },
}

impl GitVerifyError {
    /// The condition's reason.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoTag => "InvalidVerificationMode",
            Self::TagNotSigned(_) => "InvalidGitObject",
            Self::Tag { .. } => "InvalidTagSignature",
            Self::Commit { .. } => "InvalidCommitSignature",
        }
    }

    /// Whether the object is stalled by it: trying again is of no use before its spec changes.
    #[must_use]
    pub const fn is_stalling(&self) -> bool {
        matches!(self, Self::NoTag)
    }
}

/// Verifies what the mode asks for at `now` (seconds since 1970-01-01 UTC). Gives the message of `SourceVerified=True`,
/// whose reason is `Succeeded`.
///
/// # Errors
/// [`GitVerifyError`], for the first thing that is not verified.
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

/// The tag, as name and id, and the key that signed it.
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
