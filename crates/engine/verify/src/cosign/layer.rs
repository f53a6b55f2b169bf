//! A layer of a manifest of signatures.

use serde::Deserialize;

/// A layer of a manifest. Its blob should be fetched up to [`super::MAX_BLOB`] bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub media_type: String,
    /// Digest: `sha256:` and hexadecimal digits.
    pub digest: String,
    /// Size in bytes, according to the manifest.
    pub size: u64,
    /// The signature in base64, if the manifest has one for this layer.
    pub signature: Option<String>,
    /// What a keyless signature comes with.
    pub notes: Notes,
}

impl From<Descriptor> for Layer {
    fn from(descriptor: Descriptor) -> Self {
        let annotations = descriptor.annotations.unwrap_or_default();
        Self {
            media_type: descriptor.media_type,
            digest: descriptor.digest,
            size: descriptor.size,
            signature: annotations.signature,
            notes: Notes {
                certificate: annotations.certificate,
                log: annotations.log,
                timestamp: annotations.timestamp,
            },
        }
    }
}

/// What a keyless signature of cosign 2 comes with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The certificate, in PEM.
    pub certificate: Option<String>,
    /// The entry of a transparency log, with its signed entry timestamp.
    pub log: Option<String>,
    /// The timestamp of an authority.
    pub timestamp: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    pub(crate) annotations: Option<Annotations>,
}

/// The annotations that count.
#[derive(Default, Deserialize)]
pub(crate) struct Annotations {
    #[serde(rename = "dev.cosignproject.cosign/signature")]
    signature: Option<String>,
    #[serde(rename = "dev.sigstore.cosign/certificate")]
    certificate: Option<String>,
    #[serde(rename = "dev.sigstore.cosign/bundle")]
    log: Option<String>,
    #[serde(rename = "dev.sigstore.cosign/rfc3161timestamp")]
    timestamp: Option<String>,
}
