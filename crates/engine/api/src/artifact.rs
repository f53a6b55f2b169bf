//! `status.artifact` of the kinds of `source.toolkit.fluxcd.io`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::meta::Metadata;

/// An archive that a source has made (`fluxcd/pkg/apis/meta`, `Artifact`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Artifact {
    /// Where it is below the root of the server: `kind/namespace/name/file`.
    pub path: String,
    /// Where it is served.
    pub url: String,
    /// What it was made from: `main@sha1:…`, `latest@sha256:…`.
    pub revision: String,
    /// Of the archive: `sha256:…`. Empty in statuses from before digests, and as long as the archive was not written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// When it was made, in RFC 3339 and UTC, to the second (`metav1.Time`).
    pub last_update_time: String,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What else its maker says, such as annotations of an OCI image.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl Artifact {
    /// Whether it was made from this (`HasRevision`).
    #[must_use]
    pub fn has_revision(&self, revision: &str) -> bool {
        self.revision == revision
    }

    /// Whether its bytes are these; not where there is no digest, unlike `HasDigest`.
    #[must_use]
    pub fn has_digest(&self, digest: &str) -> bool {
        !self.digest.is_empty() && self.digest == digest
    }
}

/// What another controller offers as a source (`ExternalArtifact` v1). It is only read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ExternalArtifact {
    /// Name and namespace.
    pub metadata: Metadata,
    /// What its maker says.
    #[serde(default)]
    pub status: ExternalArtifactStatus,
}

/// What the maker of an [`ExternalArtifact`] says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExternalArtifactStatus {
    /// What was made last.
    pub artifact: Option<Artifact>,
}
