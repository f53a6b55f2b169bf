//! The location of an artifact's signatures among its referrers.

use serde::Deserialize;

use super::{ARTIFACT_TYPE, NotationError};
use bumpwright_budget::Few;

/// The most referrers that are read: more than an index of 4 MiB has of real ones.
const MOST: usize = 16_384;

/// A layer with an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeLayer {
    pub digest: String,
    /// Its size in bytes, according to the manifest.
    pub size: u64,
    pub media_type: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Option<Few<Descriptor, MOST>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    #[serde(default)]
    artifact_type: String,
    config: Option<Descriptor>,
    /// `blobs` in manifests of artifacts, before OCI 1.1.
    #[serde(alias = "blobs")]
    layers: Option<Few<Descriptor, 2>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    #[serde(default)]
    digest: String,
    #[serde(default)]
    size: u64,
}

/// The digests of the referrers in an index that may be signatures: [`envelope_layer`] says which are.
///
/// # Errors
/// [`NotationError::Referrers`]: it is not an index.
pub fn signatures(index: &[u8]) -> Result<Vec<String>, NotationError> {
    let index: Index = serde_json::from_slice(index).map_err(|error| NotationError::Referrers(error.to_string()))?;
    let entries = index.manifests.into_iter().flat_map(|manifests| manifests.few);
    let may_be = |entry: &Descriptor| entry.artifact_type.is_empty() || entry.artifact_type == ARTIFACT_TYPE;
    Ok(entries.filter(may_be).map(|entry| entry.digest).collect())
}

/// The only layer of a signature's manifest; `None` for other manifests.
#[must_use]
pub fn envelope_layer(manifest: &[u8]) -> Option<EnvelopeLayer> {
    let manifest: Manifest = serde_json::from_slice(manifest).ok()?;
    let by_config = manifest.config.is_some_and(|config| config.media_type == ARTIFACT_TYPE);
    let mut layers = manifest.layers?.few.into_iter();
    let layer = layers
        .next()
        .filter(|_| by_config || manifest.artifact_type == ARTIFACT_TYPE)?;
    layers.next().is_none().then_some(EnvelopeLayer {
        digest: layer.digest,
        size: layer.size,
        media_type: layer.media_type,
    })
}
