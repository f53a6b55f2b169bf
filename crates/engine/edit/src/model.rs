//! The vocabulary of an edit: setters, changes and skips.

use std::fmt;

use serde::{Deserialize, Serialize};

use bumpwright_policy::{LatestRef, PolicyName};

/// The part of an image reference that a marker asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Part {
    /// `ns:name`: the whole reference.
    Reference,
    /// `ns:name:name`: the image's name without tag.
    Name,
    /// `ns:name:tag`: the tag alone.
    Tag,
    /// `ns:name:digest`: the digest alone.
    Digest,
}

/// What a marker names: a policy and the part of its image that the field takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Setter {
    /// The policy.
    pub policy: PolicyName,
    /// The part of the image.
    pub part: Part,
}

/// Written as in a marker: `ns:name[:tag|:name|:digest]`.
impl fmt::Display for Setter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.part {
            Part::Reference => "",
            Part::Name => ":name",
            Part::Tag => ":tag",
            Part::Digest => ":digest",
        };
        write!(f, "{}:{}{suffix}", self.policy.namespace, self.policy.name)
    }
}

/// The Kubernetes object that a field belongs to, as its document names it; empty where that does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentId {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// `kind` of the object.
    pub kind: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

/// `Kind namespace/name`, as far as the object says.
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

/// One field that changes (or changed), as the CLI reports it (docs/cli.md, *Output*).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Path from the repository's root, `/` between its parts.
    pub path: String,
    /// Line of the scalar, from 1.
    pub line: usize,
    /// Column of the scalar in characters, from 1.
    pub column: usize,
    /// The value that stood there.
    pub old: String,
    /// The value that stands there now.
    pub new: String,
    /// The policy that chose it.
    pub policy: PolicyName,
    /// The marker's setter.
    pub setter: Setter,
    /// The object that holds the field.
    pub object: DocumentId,
}

/// Why something that looks like a marker was not edited (docs/cli.md, *Output*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// The YAML file does not parse.
    Unparsable,
    /// A marker in a file that is not YAML by its name.
    NotYaml,
    /// The comment holds more, or something else, than a marker.
    MalformedMarker,
    /// The marker stands on an alias, a key or a collection.
    NotAScalar,
    /// The field is commented out.
    Commented,
    /// No such policy.
    UnknownPolicy,
    /// The policy is in another namespace than the automation.
    OtherNamespace,
    /// The policy has no image.
    PolicyNotReady,
    /// `:digest` of a policy whose image has none.
    NoDigest,
    /// The automation's selector leaves the policy out.
    NotSelected,
    /// The policy is held by an annotation.
    Held,
    /// The image is younger than the policy's minimum age.
    TooYoung,
    /// The new version is lower and the policy forbids that.
    WouldDowngrade,
    /// The registry could not be scanned.
    ScanFailed,
    /// The file is larger than files that are looked at.
    TooLarge,
}

impl Reason {
    /// Whether nobody expects the field to be edited: such a skip is told only where everything is told.
    #[must_use]
    pub fn is_dormant(self) -> bool {
        self == Self::Commented
    }
}

/// Something that looks like a marker and was not edited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skip {
    /// Path from the repository's root.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Why.
    pub reason: Reason,
    /// Why, in words, with the way out.
    pub message: String,
}

/// What a policy gives for its markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// The image to set.
    Image(&'a LatestRef),
    /// Nothing is set, for this reason and in these words.
    Skip(Reason, String),
}

/// Looks up what the markers of a policy get; a pure look-up, made before the edit.
pub trait Images {
    /// The verdict for `policy`.
    fn verdict(&self, policy: &PolicyName) -> Verdict<'_>;

    /// Why a field of `policy` must not go from the tag that it holds to the one that the policy gives, if it must not.
    fn refusal(&self, policy: &PolicyName, from: &str, to: &str) -> Option<(Reason, String)> {
        let _ = (policy, from, to);
        None
    }
}
