//! The types of an edit: setters, changes and skips.

use std::fmt;

use serde::{Deserialize, Serialize};

use bumpwright_policy::{GuardRefusal, LatestRef, PolicyName};

pub(super) fn is_hash(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// The tag of a field for a tag, and the digest behind it, if there is one.
#[must_use]
pub fn tag_and_digest(value: &str) -> (&str, Option<&str>) {
    match value.rsplit_once('@') {
        Some((tag, digest)) if !tag.is_empty() && is_digest(digest) => (tag, Some(digest)),
        _ => (value, None),
    }
}

/// `ALGORITHM:HEX`.
pub(super) fn is_digest(value: &str) -> bool {
    let Some((algorithm, hash)) = value.split_once(':') else {
        return false;
    };
    algorithm.starts_with("sha") && algorithm.chars().all(|c| c.is_ascii_alphanumeric()) && is_hash(hash)
}

/// The part of an image reference that a marker sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Part {
    /// `ns:name`: the whole reference.
    Reference,
    /// `ns:name:name`: the image's name without tag.
    Name,
    /// `ns:name:tag`: the tag only.
    Tag,
    /// `ns:name:digest`: the digest only.
    Digest,
    /// `ns:name:tag@digest`: tag and digest in one field, `TAG@DIGEST`. Flux knows no such marker, and passes it over.
    TagDigest,
}

impl Part {
    /// All of them, by the words for users.
    const WORDS: [(Self, &str); 5] = [
        (Self::Reference, "image"),
        (Self::Name, "name"),
        (Self::Tag, "tag"),
        (Self::Digest, "digest"),
        (Self::TagDigest, "tag@digest"),
    ];

    /// The word for users: `image`, `name`, `tag`, `digest` or `tag@digest`.
    #[must_use]
    pub fn word(self) -> &'static str {
        let entry = Self::WORDS.iter().find(|(part, _)| *part == self);
        entry.map_or("", |(_, word)| word)
    }

    /// The part of this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let entry = Self::WORDS.iter().find(|(_, known)| *known == word);
        entry.map(|(part, _)| *part)
    }

    /// The part that a field for a tag holds: in some the digest is behind the tag.
    #[must_use]
    pub fn of_tag(value: &str) -> Self {
        match tag_and_digest(value) {
            (_, Some(_)) => Self::TagDigest,
            (_, None) => Self::Tag,
        }
    }

    /// Whether it says which version of the image is meant, in words.
    #[must_use]
    pub fn has_tag(self) -> bool {
        matches!(self, Self::Reference | Self::Tag | Self::TagDigest)
    }
}

/// The content of a marker: a policy and the part of its image that the field is set to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Setter {
    pub policy: PolicyName,
    /// The part of the image.
    pub part: Part,
}

/// The form in a marker: `ns:name[:tag|:name|:digest|:tag@digest]`.
impl fmt::Display for Setter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.part {
            Part::Reference => "",
            Part::Name => ":name",
            Part::Tag => ":tag",
            Part::Digest => ":digest",
            Part::TagDigest => ":tag@digest",
        };
        write!(f, "{}{suffix}", self.policy.marker())
    }
}

/// The Kubernetes object that a field belongs to, from its document; absent parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentId {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// `kind` of the object.
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

/// `Kind namespace/name`, without absent parts.
impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let name = format!("{}{slash}{}", self.namespace, self.name);
        let space = if self.kind.is_empty() || name.is_empty() {
            ""
        } else {
            " "
        };
        write!(f, "{}{space}{name}", self.kind)
    }
}

/// A changed field, as in the CLI's output (docs/cli.md, *Output*).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Path from the repository's root, `/` between its parts.
    pub path: String,
    /// Line of the scalar, from 1.
    pub line: usize,
    /// Column of the scalar in characters, from 1.
    pub column: usize,
    pub old: String,
    pub new: String,
    /// The policy that chose it.
    pub policy: PolicyName,
    pub setter: Setter,
    /// The object with the field.
    pub object: DocumentId,
}

/// Why a comment that looks like a marker was not edited (docs/cli.md, *Output*).
///
/// New ones go to the end: indexes on disk know them by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// The YAML file does not parse.
    Unparsable,
    /// The file is not YAML by its name.
    NotYaml,
    /// The comment is not a valid marker.
    MalformedMarker,
    /// The marker is on an alias, a key or a collection.
    NotAScalar,
    /// The field is commented out.
    Commented,
    /// The policy does not exist.
    UnknownPolicy,
    /// The policy is in another namespace than the automation.
    OtherNamespace,
    /// The policy has no image.
    PolicyNotReady,
    /// The field holds a digest, or has one beside it, and the policy's image has none.
    NoDigest,
    /// The automation's selector excludes the policy.
    NotSelected,
    /// The policy is held by an annotation.
    Held,
    /// The image is younger than the policy's minimum age.
    TooYoung,
    /// The new version is lower, and the policy forbids downgrades.
    WouldDowngrade,
    /// The registry could not be scanned.
    ScanFailed,
    /// The file is too large.
    TooLarge,
    /// Somebody else has committed to the branch of the pull request.
    BranchEdited,
    /// The windows of the policy are closed.
    OutsideWindow,
    /// Somebody has set the field back.
    Reverted,
    /// The part of the repository that images are promoted from has not had this one for long enough.
    NotProven,
    /// The image failed in a cluster, and is held since.
    Failed,
    /// The image has no signature that the policy accepts.
    Unsigned,
    /// The value is computed from others.
    Interpolated,
    /// A rule of a rule file names no field.
    UnmatchedRule,
    /// The field holds something else than what its marker writes.
    Mismatch,
    /// Tag and digest of an image are beside each other, and only one of them would be set.
    Pinned,
    /// The policy or its repository is suspended, and has no image from before.
    Suspended,
}

impl Reason {
    /// Whether the field is not meant to be edited: such a skip appears only in complete lists.
    #[must_use]
    pub fn is_dormant(self) -> bool {
        self == Self::Commented
    }

    /// Whether the field stays as somebody wants it to, for now or for ever: no wrong marker, policy or
    /// registry is the cause.
    #[must_use]
    pub fn is_on_purpose(self) -> bool {
        matches!(
            self,
            Self::BranchEdited
                | Self::Commented
                | Self::Failed
                | Self::Held
                | Self::NotProven
                | Self::NotSelected
                | Self::NotYaml
                | Self::OtherNamespace
                | Self::OutsideWindow
                | Self::Reverted
                | Self::Suspended
                | Self::TooYoung
                | Self::WouldDowngrade
        )
    }

    /// Whether the repository itself has to be corrected, whatever images there are.
    #[must_use]
    pub fn is_faulty_marker(self) -> bool {
        matches!(
            self,
            Self::Unparsable
                | Self::MalformedMarker
                | Self::NotAScalar
                | Self::UnknownPolicy
                | Self::TooLarge
                | Self::Interpolated
                | Self::UnmatchedRule
                | Self::Mismatch
                | Self::Pinned
        )
    }
}

/// The reason for markers of a policy whose choice a guard refuses.
impl From<&GuardRefusal> for Reason {
    fn from(refusal: &GuardRefusal) -> Self {
        match refusal {
            GuardRefusal::Held(_) => Self::Held,
            GuardRefusal::TooYoung { .. } => Self::TooYoung,
            GuardRefusal::Failed(_) => Self::Failed,
            GuardRefusal::NotProven { .. } => Self::NotProven,
            GuardRefusal::WouldDowngrade { .. } => Self::WouldDowngrade,
            GuardRefusal::OutsideWindow(_) => Self::OutsideWindow,
            GuardRefusal::Unsigned { .. } => Self::Unsigned,
        }
    }
}

/// A comment that looks like a marker and was not edited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skip {
    /// Path from the repository's root.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    pub reason: Reason,
    /// The message, with the way out.
    pub message: String,
}

/// The result of a policy for its markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// The image to set.
    Image(&'a LatestRef),
    /// Nothing is set, with a reason and a message.
    Skip(Reason, String),
}

/// A look-up of the images of policies.
pub trait Images {
    /// The verdict for `policy`.
    fn verdict(&self, policy: &PolicyName) -> Verdict<'_>;

    /// Why a field of `policy` must not change from one tag to another, if it must not.
    fn refusal(&self, policy: &PolicyName, from: &str, to: &str) -> Option<(Reason, String)> {
        let _ = (policy, from, to);
        None
    }

    /// Why no field of `policy` changes now; asked for fields that would.
    fn closed(&self, policy: &PolicyName) -> Option<(Reason, String)> {
        let _ = policy;
        None
    }

    /// Whether fields are written as Flux writes them: whatever they hold, and whatever becomes of a digest.
    fn overwrites(&self) -> bool {
        false
    }
}
