//! Signatures of cosign: collected from the registry, judged by `verify` (source-controller v1.9, `CosignVerifier.Verify`).

use std::io::Read;

use super::oci_pull::OciRemote;
use bumpwright_http::Deadline;
use bumpwright_registry::{Layer, RegistryError};
use bumpwright_verify::cosign::{self, CosignError, CosignKeys, Evidence, MAX_BLOB, SimpleSignature};

/// Verifies the content of a digest with the public keys of a Secret: by the bundles of cosign 3 and the signatures of cosign 2
/// among the referrers, then by those below the signature tag. One that matches is enough.
///
/// # Errors
/// [`CosignError`]; signatures that the registry fails to return count as not matching.
pub fn verify_cosign(remote: &OciRemote, digest: &str, keys: &CosignKeys) -> Result<(), CosignError> {
    let name = remote.name(&format!("@{digest}"));
    let gathering = Gathering {
        remote,
        deadline: remote.deadline,
        verdict: &|evidence| cosign::verify(keys, digest, &name, evidence).map(drop),
    };
    let referring = gathering.referring(digest);
    if matches!(referring, Ok(true)) || gathering.tagged(digest)? {
        return Ok(());
    }
    referring?;
    // Why none matches.
    (gathering.verdict)(&Evidence::default())
}

struct Gathering<'a> {
    remote: &'a OciRemote,
    deadline: Deadline,
    /// Judges signatures one by one: a registry may send thousands of large ones.
    verdict: &'a dyn Fn(&Evidence<'_>) -> Result<(), CosignError>,
}

/// Part of a signature that the registry fails to return.
struct Missing;

impl From<RegistryError> for Missing {
    fn from(_: RegistryError) -> Self {
        Self
    }
}

impl Gathering<'_> {
    /// Whether a signature among the manifests that refer to an image matches.
    fn referring(&self, digest: &str) -> Result<bool, CosignError> {
        let OciRemote {
            registry,
            login,
            repository,
            ..
        } = self.remote;
        let Ok(pages) = registry.referrers(repository, digest, login, self.deadline) else {
            return Ok(false);
        };
        for page in &pages {
            if self.listed(page)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a signature that an index lists matches.
    fn listed(&self, index: &[u8]) -> Result<bool, CosignError> {
        let referrers = match cosign::referrers(index) {
            Err(CosignError::Manifest(_)) => return Ok(false),
            referrers => referrers?,
        };
        // Those that are unavailable are skipped; they may not be signatures at all.
        let mut manifests = referrers
            .iter()
            .filter_map(|referrer| self.manifest(&format!("@{referrer}")).ok());
        Ok(manifests.any(|manifest| match cosign::bundle_layer(&manifest) {
            Some(layer) => self.blob(&layer).is_ok_and(|blob| {
                let bundles: &[&[u8]] = &[&blob];
                (self.verdict)(&Evidence { bundles, layers: &[] }).is_ok()
            }),
            None => cosign::signature_layers(&manifest).is_ok_and(|layers| self.simple(&layers)),
        }))
    }

    /// Whether a signature below the signature tag matches.
    fn tagged(&self, digest: &str) -> Result<bool, CosignError> {
        let tag = cosign::signature_tag(digest);
        let manifest = tag.and_then(|tag| self.manifest(&format!(":{tag}")).ok());
        match manifest {
            Some(manifest) => Ok(self.simple(&cosign::signature_layers(&manifest)?)),
            None => Ok(false),
        }
    }

    /// Whether one of these layers is a simple signature that matches.
    fn simple(&self, layers: &[cosign::Layer]) -> bool {
        let mut signed = layers.iter().filter(|layer| layer.signature.is_some());
        signed.any(|layer| {
            self.blob(layer).is_ok_and(|payload| {
                let payload = &payload;
                let layers: &[SimpleSignature<'_>] = &[SimpleSignature { layer, payload }];
                (self.verdict)(&Evidence { bundles: &[], layers }).is_ok()
            })
        })
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
