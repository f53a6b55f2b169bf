//! `ImageUpdateAutomation` of `image.toolkit.fluxcd.io` (v1beta1, v1beta2, v1).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::git_repository::spec::{GitRef, GitRepository};
use crate::object::duration::GoDuration;
use crate::object::field_places::FieldPlaces;
use crate::object::meta::{LocalRef, Metadata, ObjectName};
use crate::object::selector::LabelSelector;

/// An automation: which repository, which policies, who commits, where to push.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ImageUpdateAutomation {
    /// API group and version of the manifest.
    #[serde(rename = "apiVersion", default)]
    pub api_version: String,
    /// Name, namespace, labels, annotations.
    pub metadata: Metadata,
    pub spec: AutomationSpec,
    /// Where its manifest has the fields that a run uses, if it was read from one.
    #[serde(skip)]
    pub places: FieldPlaces,
}

/// What an automation does.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutomationSpec {
    pub source_ref: SourceRef,
    /// Checkout, commit, push; optional in the schema (IUA-010).
    pub git: Option<GitSpec>,
    /// How often at least (IUA-011); a single run does not need it.
    pub interval: Option<GoDuration>,
    /// How long a run waits after the first policy has changed (Flux 2.10); no time when absent.
    pub policy_change_delay: Option<GoDuration>,
    /// Which policies take part; all of the namespace when absent.
    pub policy_selector: Option<LabelSelector>,
    /// Which files, and how (IUA-013).
    #[serde(default)]
    pub update: Update,
    /// Whether no run takes place (IUA-015).
    #[serde(default)]
    pub suspend: bool,
}

/// Reference to a `GitRepository`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceRef {
    /// API version of the source (IUA-016).
    pub api_version: Option<String>,
    /// Only `GitRepository` is supported (IUA-017).
    #[serde(default)]
    pub kind: SourceKind,
    pub name: String,
    /// Its namespace; the automation's when absent (IUA-019).
    pub namespace: Option<String>,
}

/// The kinds of source that an automation can write to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum SourceKind {
    /// `GitRepository`, the default.
    #[default]
    GitRepository,
}

/// Checkout, commit and push.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GitSpec {
    /// The reference to start from (IUA-026); the repository's `ref` when absent (IUA-029).
    pub checkout: Option<Checkout>,
    /// Who commits, and with what message (IUA-027).
    pub commit: Commit,
    /// Where to push (IUA-028); the checkout branch when absent (IUA-072).
    pub push: Option<Push>,
}

/// The reference that a run starts from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Checkout {
    #[serde(rename = "ref")]
    pub reference: GitRef,
}

/// Who commits, and with what message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    /// Author and committer (IUA-035).
    pub author: CommitUser,
    /// Key to sign with; without one commits are not signed (IUA-039).
    pub signing_key: Option<SigningKey>,
    /// Go template of the message (IUA-044).
    pub message_template: Option<String>,
    /// The template's `.Values` (v1).
    #[serde(default)]
    pub message_template_values: BTreeMap<String, String>,
}

/// The author and committer of commits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CommitUser {
    /// Name; may be empty (IUA-036).
    #[serde(default)]
    pub name: String,
    /// Mail address (IUA-037).
    pub email: String,
}

/// A key to sign with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SigningKey {
    /// Secret in the automation's namespace (IUA-040).
    pub secret_ref: LocalRef,
    /// Type of the key (N-009).
    #[serde(rename = "type", default)]
    pub kind: SigningKeyType,
}

/// Types of signing keys; others are refused (N-009).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SigningKeyType {
    /// OpenPGP, the default.
    #[default]
    Gpg,
    Ssh,
}

/// `spec.git.push`: where commits are pushed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Push {
    /// A branch (IUA-069).
    pub branch: Option<String>,
    /// A refspec (IUA-070, docs/decisions.md C31).
    pub refspec: Option<String>,
    /// Push options, values may be empty (IUA-071, IUA-085).
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// Which files, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Update {
    /// The strategy (IUA-096).
    #[serde(default)]
    pub strategy: Strategy,
    /// Folder or file below the repository's root; the root when absent (IUA-097).
    pub path: Option<String>,
}

/// How files are updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Strategy {
    /// By markers in comments, the default (IUA-013).
    #[default]
    Setters,
}

impl ImageUpdateAutomation {
    /// The field that names the repository, as a JSON pointer.
    pub const SOURCE: &str = "/spec/sourceRef/name";
    /// The field with checkout, commit and push.
    pub const GIT: &str = "/spec/git";
    /// The field with the branch that is pushed.
    pub const PUSH_BRANCH: &str = "/spec/git/push/branch";
    /// The field with the refspec that is pushed.
    pub const PUSH_REFSPEC: &str = "/spec/git/push/refspec";
    /// The field that selects policies.
    pub const SELECTOR: &str = "/spec/policySelector";
    /// The field with the folder that is updated.
    pub const PATH: &str = "/spec/update/path";

    /// The fields of an automation whose places are kept.
    pub(crate) const PLACED: &[&str] = &[
        Self::SOURCE,
        Self::GIT,
        Self::PUSH_BRANCH,
        Self::PUSH_REFSPEC,
        Self::SELECTOR,
        Self::PATH,
        "/spec/git/checkout/ref/branch",
        "/spec/git/checkout/ref/tag",
        "/spec/git/checkout/ref/semver",
        "/spec/git/checkout/ref/name",
        "/spec/git/checkout/ref/commit",
    ];

    /// `spec.update.path`; empty for all of the repository.
    #[must_use]
    pub fn path(&self) -> &str {
        self.spec.update.path.as_deref().unwrap_or("")
    }
    /// `spec.interval`; a minute when a manifest has none, which an API server rejects.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.spec.interval.map_or(Duration::from_secs(60), GoDuration::as_std)
    }

    /// Namespace and name of the repository that the automation writes to (IUA-019).
    #[must_use]
    pub fn source_name(&self) -> ObjectName {
        let source = &self.spec.source_ref;
        let own = self.metadata.namespace_or_default();
        ObjectName::referred_from(own, source.namespace.as_deref(), &source.name)
    }

    /// The checkout reference, the automation's own before the repository's (IUA-029, IUA-031).
    #[must_use]
    pub fn checkout_ref<'a>(&'a self, repository: Option<&'a GitRef>) -> Option<&'a GitRef> {
        let own = self.spec.git.as_ref().and_then(|git| git.checkout.as_ref());
        own.map(|checkout| &checkout.reference).or(repository)
    }

    /// The place of the field that says what is checked out: of its own manifest, else of its repository's.
    #[must_use]
    pub fn checkout_place<'a>(&'a self, repository: Option<&'a GitRepository>) -> Option<&'a str> {
        let own = self.spec.git.as_ref().and_then(|git| git.checkout.as_ref());
        let (places, above, reference) = match (own, repository) {
            (Some(checkout), _) => (&self.places, "/spec/git/checkout/ref", Some(&checkout.reference)),
            (None, Some(repository)) => (&repository.places, "/spec/ref", repository.spec.reference.as_ref()),
            (None, None) => return None,
        };
        let field = reference.map_or("branch", GitRef::deciding_field);
        places.of(&format!("{above}/{field}"))
    }
}
