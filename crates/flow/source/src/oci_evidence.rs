//! Signatures of cosign: collected from the registry, judged by `verify` (source-controller v1.9, `CosignVerifier.Verify`).

use std::io::Read;

use super::oci_pull::OciRemote;
use bumpwright_http::Deadline;
use bumpwright_registry::{Layer, RegistryError};
use bumpwright_verify::cosign::{self, CosignError, CosignKeys, Evidence, MAX_BLOB, SimpleSignature};

/// Verifies the content of a digest with the public keys of a Secret. Bundles of cosign 3 count first; without any, the older
/// signatures.
///
/// # Errors
/// [`CosignError`]; signatures that the registry fails to return count as not matching.
pub fn verify_cosign(remote: &OciRemote, digest: &str, keys: &CosignKeys) -> Result<(), CosignError> {
    let gathering = Gathering {
        remote,
        deadline: remote.deadline,
    };
    let name = remote.name(&format!("@{digest}"));
    let bundles = gathering.bundles(digest).unwrap_or_default();
    let blobs: Vec<&[u8]> = bundles.iter().map(Vec::as_slice).collect();
    let mut evidence = Evidence {
        bundles: &blobs,
        layers: &[],
    };
    if evidence.has_bundles() {
        return cosign::verify(keys, digest, &name, &evidence).map(drop);
    }
    let simple = gathering.simple(digest)?;
    let layers: Vec<SimpleSignature<'_>> = simple
        .iter()
        .map(|(layer, payload)| SimpleSignature { layer, payload })
        .collect();
    evidence.layers = &layers;
    cosign::verify(keys, digest, &name, &evidence).map(drop)
}

struct Gathering<'a> {
    remote: &'a OciRemote,
    deadline: Deadline,
}

/// Part of a signature that the registry fails to return.
struct Missing;

impl From<RegistryError> for Missing {
    fn from(_: RegistryError) -> Self {
        Self
    }
}

impl Gathering<'_> {
    /// The blobs of the bundles that refer to an image.
    fn bundles(&self, digest: &str) -> Result<Vec<Vec<u8>>, Missing> {
        let OciRemote {
            registry,
            login,
            repository,
            ..
        } = self.remote;
        let Some(index) = registry.referrers(repository, digest, login, self.deadline)? else {
            return Ok(Vec::new());
        };
        let referrers = cosign::referrers(&index).map_err(|_| Missing)?;
        let mut blobs = Vec::new();
        for referrer in referrers {
            // Unavailable blobs are skipped; they may not be signatures at all.
            let manifest = self.manifest(&format!("@{referrer}")).ok();
            if let Some(layer) = manifest.as_deref().and_then(cosign::bundle_layer)
                && let Ok(blob) = self.blob(&layer)
            {
                blobs.push(blob);
            }
        }
        Ok(blobs)
    }

    /// The signatures below the signature tag, with their payloads.
    fn simple(&self, digest: &str) -> Result<Vec<(cosign::Layer, Vec<u8>)>, CosignError> {
        let Some(tag) = cosign::signature_tag(digest) else {
            return Ok(Vec::new());
        };
        let Ok(manifest) = self.manifest(&format!(":{tag}")) else {
            return Ok(Vec::new());
        };
        let layers = cosign::signature_layers(&manifest)?;
        let with_blob = |layer: cosign::Layer| self.blob(&layer).ok().map(|blob| (layer, blob));
        Ok(layers.into_iter().filter_map(with_blob).collect())
    }

    fn manifest(&self, chosen: &str) -> Result<Vec<u8>, Missing> {
        let image = self.remote.reference(chosen).map_err(|_| Missing)?;
        Ok(self
            .remote
            .registry
            .manifest(&image, &self.remote.login, self.deadline)?)
    }

    fn blob(&self, layer: &cosign::Layer) -> Result<Vec<u8>, Missing> {
        if layer.size > MAX_BLOB as u64 || super::oci_reference::checked_digest(&layer.digest).is_err() {
            return Err(Missing);
        }
        let OciRemote {
            registry,
            login,
            repository,
            ..
        } = self.remote;
        let layer = Layer {
            digest: layer.digest.clone(),
            size: layer.size,
            ..Layer::default()
        };
        let mut bytes = Vec::new();
        let mut blob = registry.layer(repository, &layer, login, self.deadline)?;
        blob.read_to_end(&mut bytes).map_err(|_| Missing)?;
        Ok(bytes)
    }
}
