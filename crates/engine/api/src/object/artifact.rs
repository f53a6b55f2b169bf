//! `status.artifact` of the kinds of `source.toolkit.fluxcd.io`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::meta::Metadata;

/// An archive that a source has made (`fluxcd/pkg/apis/meta`, `Artifact`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Artifact {
    /// Path below the root of the server: `kind/namespace/name/file`.
    pub path: String,
    /// URL at which it is served.
    pub url: String,
    /// Revision that it was made from: `main@sha1:…`, `latest@sha256:…`.
    pub revision: String,
    /// Digest of the archive: `sha256:…`. Empty in statuses from before digests, and until the
    /// archive has been written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Time at which it was made, in RFC 3339 and UTC, to the second (`metav1.Time`).
    pub last_update_time: String,
    /// Size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Further data of the producer, such as annotations of an OCI image.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl Artifact {
    /// Whether it was made from this revision (`HasRevision`).
    #[must_use]
    pub fn has_revision(&self, revision: &str) -> bool {
        self.revision == revision
    }

    /// Whether it has this digest; unlike `HasDigest` false when it has none.
    #[must_use]
    pub fn has_digest(&self, digest: &str) -> bool {
        !self.digest.is_empty() && self.digest == digest
    }
}

/// An artifact that another controller offers as a source (`ExternalArtifact` v1). Read-only.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ExternalArtifact {
    pub metadata: Metadata,
    /// Status, written by the producer.
    #[serde(default)]
    pub status: ExternalArtifactStatus,
}

/// Status of an [`ExternalArtifact`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExternalArtifactStatus {
    pub artifact: Option<Artifact>,
}
