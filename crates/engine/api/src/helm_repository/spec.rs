//! `HelmRepository` of `source.toolkit.fluxcd.io` (v1beta1, v1beta2, v1): the index of a repository of Helm charts.

use serde::{Deserialize, Serialize};

use crate::image_repository::spec::AccessFrom;
use crate::object::artifact::Artifact;
use crate::object::duration::GoDuration;
use crate::object::meta::{LocalRef, Metadata};

/// A repository of Helm charts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct HelmRepository {
    pub metadata: Metadata,
    pub spec: HelmRepositorySpec,
}

/// Location of the charts and connection settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmRepositorySpec {
    /// `https` or `http` with an `index.yaml` below it, or `oci` for a registry.
    pub url: String,
    /// `default` or `oci`; `default` when empty.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// How often to fetch the index.
    pub interval: Option<GoDuration>,
    /// Deadline of one fetch.
    pub timeout: Option<GoDuration>,
    /// Secret with `username` and `password`.
    pub secret_ref: Option<LocalRef>,
    /// Secret with `ca.crt`, `tls.crt`, `tls.key`.
    pub cert_secret_ref: Option<LocalRef>,
    /// Whether hosts of charts get the login that are not the repository's.
    #[serde(default)]
    pub pass_credentials: bool,
    /// Whether a registry (`oci`) may be reached without TLS.
    #[serde(default)]
    pub insecure: bool,
    /// `generic`, `aws`, `azure`, `gcp`, for a registry (`oci`).
    #[serde(default)]
    pub provider: String,
    /// Accepted without effect, as in Flux.
    pub access_from: Option<AccessFrom>,
    /// Whether the index is left alone.
    #[serde(default)]
    pub suspend: bool,
}

impl HelmRepository {
    /// Whether the charts are in an OCI registry, which has no index.
    #[must_use]
    pub fn is_oci(&self) -> bool {
        self.spec.kind == "oci"
    }
}

/// Status of a repository, without the conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmRepositoryStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
}
