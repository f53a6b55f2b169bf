//! `OCIRepository` of `source.toolkit.fluxcd.io` (v1beta2, v1): files in an OCI registry.

use serde::{Deserialize, Serialize};

use crate::object::artifact::Artifact;
use crate::object::duration::GoDuration;
use crate::object::meta::{LocalRef, Metadata};

/// A repository of a registry whose images hold files.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OciRepository {
    pub metadata: Metadata,
    pub spec: OciRepositorySpec,
}

/// Location, reference and connection settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OciRepositorySpec {
    /// `oci://HOST/NAME`.
    pub url: String,
    /// What to pull; tag `latest` when absent.
    #[serde(rename = "ref")]
    pub reference: Option<OciRef>,
    /// Which layer has the files, and whether it is unpacked.
    pub layer_selector: Option<OciLayerSelector>,
    /// How often to look for a new digest.
    pub interval: Option<GoDuration>,
    /// Deadline of one fetch.
    pub timeout: Option<GoDuration>,
    /// Secret with a Docker configuration.
    pub secret_ref: Option<LocalRef>,
    /// Service account whose pull secrets are used, or whose identity at the provider.
    #[serde(default)]
    pub service_account_name: String,
    /// Secret with `ca.crt`, `tls.crt`, `tls.key`.
    pub cert_secret_ref: Option<LocalRef>,
    /// Secret with `address`, `username`, `password` of the proxy.
    pub proxy_secret_ref: Option<LocalRef>,
    /// `generic`, `aws`, `azure`, `gcp`.
    #[serde(default)]
    pub provider: String,
    /// Which signatures are checked.
    pub verify: Option<OciVerification>,
    /// Files that are left out, in the format of `.gitignore`.
    pub ignore: Option<String>,
    /// Whether the registry may be reached without TLS.
    #[serde(default)]
    pub insecure: bool,
    /// Whether no artifacts are made.
    #[serde(default)]
    pub suspend: bool,
}

/// The reference to pull: the first of `digest`, `semver`, `tag` that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OciRef {
    /// `sha256:…`
    pub digest: Option<String>,
    /// A range of versions over the tags.
    pub semver: Option<String>,
    /// A regular expression that the tags must match.
    pub semver_filter: Option<String>,
    pub tag: Option<String>,
}

/// Which layer has the files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OciLayerSelector {
    /// Its media type; the first layer when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// `extract` or `copy`; `extract` when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
}

impl OciRepositorySpec {
    /// The media type of the layer with the files; empty for the first layer.
    #[must_use]
    pub fn media_type(&self) -> &str {
        self.layer_selector.as_ref().map_or("", |selector| &selector.media_type)
    }
}

/// Which signatures are checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OciVerification {
    /// `cosign` or `notation`.
    pub provider: String,
    /// Secret with the public keys.
    pub secret_ref: Option<LocalRef>,
    /// Secret with Sigstore's `trusted_root.json`.
    pub trusted_root_secret_ref: Option<LocalRef>,
    /// Identities of which one must have signed, for keyless signatures.
    #[serde(default, rename = "matchOIDCIdentity")]
    pub match_oidc_identity: Vec<OidcIdentity>,
}

/// An identity as two regular expressions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OidcIdentity {
    pub issuer: String,
    pub subject: String,
}

/// Status of a repository, without the conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OciRepositoryStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// `spec.ignore` that the artifact was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_ignore: Option<String>,
    /// `spec.layerSelector` that the artifact was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_layer_selector: Option<OciLayerSelector>,
    /// Of the keys and the trusted root that the signatures were checked with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_verification_fingerprint: Option<String>,
}
