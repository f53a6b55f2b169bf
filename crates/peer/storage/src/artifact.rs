//! What is known of an artifact: the object in `status.artifact` (`github.com/fluxcd/pkg/apis/meta`, `Artifact`).

use std::collections::BTreeMap;

/// What the origin says of an artifact, such as annotations of an OCI image.
pub type Metadata = BTreeMap<String, String>;

/// An artifact, as statuses name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artifact {
    /// `kind/namespace/name/file`
    pub path: String,
    /// Where it is served.
    pub url: String,
    /// `main@sha1:…`, `latest@sha256:…`
    pub revision: String,
    /// `sha256:…`; nothing as long as it was not written.
    pub digest: String,
    /// When it was written, in RFC 3339 and UTC, to the second (`metav1.Time`).
    pub last_update_time: String,
    /// Of the file, in bytes.
    pub size: Option<u64>,
    /// What the origin says of it.
    pub metadata: Metadata,
}

impl Artifact {
    /// Whether it is of this revision (`HasRevision`).
    #[must_use]
    pub fn has_revision(&self, revision: &str) -> bool {
        self.revision == revision
    }

    /// Whether its file has this digest (`HasDigest`).
    #[must_use]
    pub fn has_digest(&self, digest: &str) -> bool {
        self.digest == digest
    }
}
