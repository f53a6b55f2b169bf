//! `GitRepository` of `source.toolkit.fluxcd.io` (v1beta1, v1beta2, v1): a remote, its credentials, and
//! the artifact to make.

use serde::{Deserialize, Serialize};

use crate::object::artifact::Artifact;
use crate::object::duration::GoDuration;
use crate::object::field_places::FieldPlaces;
use crate::object::meta::{LocalRef, Metadata};

/// A Git repository and its connection settings (docs/decisions.md C33).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GitRepository {
    pub metadata: Metadata,
    pub spec: GitRepositorySpec,
    /// Where its manifest has the fields of the checkout, if it was read from one.
    #[serde(skip)]
    pub places: FieldPlaces,
}

impl GitRepository {
    /// The fields of a repository whose places are kept.
    pub(crate) const PLACED: &[&str] = &[
        "/spec/ref/branch",
        "/spec/ref/tag",
        "/spec/ref/semver",
        "/spec/ref/name",
        "/spec/ref/commit",
    ];
}

/// The settings of a repository. Automations use those of the connection only (IUA-024).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositorySpec {
    /// `http(s)://` or `ssh://`.
    pub url: String,
    /// What to check out; branch `master` when absent.
    #[serde(rename = "ref")]
    pub reference: Option<GitRef>,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalRef>,
    /// Secret with `ca.crt`, `tls.crt`, `tls.key`.
    pub cert_secret_ref: Option<LocalRef>,
    /// Secret with `address`, `username`, `password` of the proxy.
    pub proxy_secret_ref: Option<LocalRef>,
    /// Deadline of one Git operation.
    pub timeout: Option<GoDuration>,
    /// How often an artifact is made.
    pub interval: Option<GoDuration>,
    /// `generic`, `aws`, `azure`, `github`; here also `gcp`.
    #[serde(default)]
    pub provider: String,
    /// Service account for the provider's workload identity.
    #[serde(default)]
    pub service_account_name: String,
    /// Whether no artifacts are made.
    #[serde(default)]
    pub suspend: bool,
    /// Which signatures are checked.
    pub verify: Option<GitVerification>,
    /// Files that are left out, in the format of `.gitignore`.
    pub ignore: Option<String>,
    /// Files of other repositories to add.
    #[serde(default)]
    pub include: Vec<GitInclude>,
    /// Whether the artifact includes the files of submodules.
    #[serde(default)]
    pub recurse_submodules: bool,
    /// Folders to check out; all when there are none.
    #[serde(default)]
    pub sparse_checkout: Vec<String>,
}

/// What to check out. Order of precedence: `commit` (with `branch`), `name`, `tag`, `semver`, `branch`; automations
/// take `semver` before `tag`, as the document says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct GitRef {
    pub branch: Option<String>,
    pub tag: Option<String>,
    /// A range over the tags.
    pub semver: Option<String>,
    /// A full reference name.
    pub name: Option<String>,
    pub commit: Option<String>,
}

impl GitRef {
    /// The name of the field by which an automation checks out; `branch` if none is set.
    #[must_use]
    pub(crate) fn deciding_field(&self) -> &'static str {
        let fields = [
            ("commit", &self.commit),
            ("name", &self.name),
            ("semver", &self.semver),
            ("tag", &self.tag),
        ];
        let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let mut set = fields.into_iter().filter(|(_, text)| is_set(text));
        set.next().map_or("branch", |(name, _)| name)
    }
}

/// Which signatures are checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitVerification {
    /// `HEAD`, `head`, `Tag`, `TagAndHEAD`.
    #[serde(default)]
    pub mode: String,
    /// Secret with the public keys: `.asc` OpenPGP, `.sshpub` SSH.
    pub secret_ref: Option<LocalRef>,
}

impl GitVerification {
    /// The mode with its default, as the status has it.
    #[must_use]
    pub fn mode(&self) -> &'static str {
        match self.mode.as_str() {
            "Tag" => "Tag",
            "TagAndHEAD" => "TagAndHEAD",
            _ => "HEAD",
        }
    }
}

/// Files of another repository of the namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GitInclude {
    pub repository: LocalRef,
    /// A folder of its artifact; all of it when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from_path: String,
    /// The folder to put them in; named like the repository when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to_path: String,
}

impl GitInclude {
    /// The folder that the files are put in.
    #[must_use]
    pub fn to(&self) -> &str {
        match self.to_path.as_str() {
            "" => &self.repository.name,
            path => path,
        }
    }
}

/// Status of a repository, without the conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GitRepositoryStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// The artifacts of the repositories that were included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub included_artifacts: Vec<Artifact>,
    /// `spec.ignore` that the artifact was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_ignore: Option<String>,
    /// `spec.include` that the artifact was made with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed_include: Vec<GitInclude>,
    /// `spec.recurseSubmodules` that the artifact was made with.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub observed_recurse_submodules: bool,
    /// `spec.sparseCheckout` that the artifact was made with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed_sparse_checkout: Vec<String>,
    /// Which signatures were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_verification_mode: Option<String>,
    /// Of the keys that they were checked with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_verification_fingerprint: Option<String>,
}
