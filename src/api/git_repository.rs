//! `GitRepository` of `source.toolkit.fluxcd.io` (v1beta1, v1beta2, v1): where to clone, and with what.

use serde::Deserialize;

use super::duration::GoDuration;
use super::meta::{LocalRef, Metadata};

/// A Git repository and how to reach it (DECISIONS C33).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GitRepository {
    /// Name and namespace.
    pub metadata: Metadata,
    /// Where and how.
    pub spec: GitRepositorySpec,
}

/// The connection settings of a repository; what only makes artifacts is left out (IUA-024).
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
    pub provider: Option<String>,
    /// Service account for the provider's workload identity.
    pub service_account_name: Option<String>,
    /// Whether no artifacts are made.
    #[serde(default)]
    pub suspend: bool,
}

/// What to check out. Order of precedence: `commit` (with `branch`), `name`, `semver`, `tag`, `branch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct GitRef {
    /// A branch.
    pub branch: Option<String>,
    /// A tag.
    pub tag: Option<String>,
    /// A range over the tags.
    pub semver: Option<String>,
    /// A full reference name.
    pub name: Option<String>,
    /// A commit id.
    pub commit: Option<String>,
}
