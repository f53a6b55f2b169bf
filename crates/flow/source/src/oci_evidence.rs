//! Signatures of cosign: collected from the registry, judged by `verify` (source-controller v1.9, `CosignVerifier.Verify`).

use std::cell::RefCell;
use std::io::Read;

use super::oci_pull::OciRemote;
use bumpwright_http::Deadline;
use bumpwright_registry::{Layer, RegistryError};
use bumpwright_verify::cosign::{self, CosignError, MAX_BLOB, SimpleSignature, Verifier};

/// Verifies the content of a digest: by the bundles of cosign 3 and the signatures of cosign 2 among the referrers, then by those
/// below the tag for signatures. One that counts is enough.
///
/// # Errors
/// [`CosignError`]: why the first one does not count. Signatures that the registry fails to return do not.
pub fn verify_cosign(remote: &OciRemote, digest: &str, verifier: &Verifier) -> Result<(), CosignError> {
    let name = remote.name(&format!("@{digest}"));
    let gathering = Gathering {
        remote,
        deadline: remote.deadline,
        verifier,
        digest,
        name: &name,
        why: RefCell::default(),
    };
    let referring = gathering.referring();
    if matches!(referring, Ok(true)) || gathering.tagged()? {
        return Ok(());
    }
    referring?;
    match gathering.why.into_inner() {
        Some(why @ CosignError::Unproven { .. }) => Err(why),
        _ => Err(verifier.unsigned(&name)),
    }
}

/// Judges signatures one by one: a registry may send thousands of large ones.
struct Gathering<'a> {
    remote: &'a OciRemote,
    deadline: Deadline,
    verifier: &'a Verifier,
    digest: &'a str,
    /// The image in messages.
    name: &'a str,
    /// Why the first signature does not count.
    why: RefCell<Option<CosignError>>,
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
    fn referring(&self) -> Result<bool, CosignError> {
        let OciRemote {
            registry,
            login,
            repository,
            ..
        } = self.remote;
        let Ok(pages) = registry.referrers(repository, self.digest, login, self.deadline) else {
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
            Some(layer) => self
                .blob(&layer)
                .is_ok_and(|blob| self.counts(self.verifier.bundle(&blob, self.digest, self.name))),
            None => cosign::signature_layers(&manifest).is_ok_and(|layers| self.simple(&layers)),
        }))
    }

    /// Whether a signature below the signature tag matches.
    fn tagged(&self) -> Result<bool, CosignError> {
        let tag = self.verifier.tag(self.digest);
        let manifest = tag.and_then(|tag| self.manifest(&format!(":{tag}")).ok());
        match manifest {
            Some(manifest) => Ok(self.simple(&cosign::signature_layers(&manifest)?)),
            None => Ok(false),
        }
    }

    /// Whether one of these layers is a simple signature that matches.
    fn simple(&self, layers: &[cosign::Layer]) -> bool {
        let mut signed = layers.iter().filter(|layer| self.verifier.wants(layer));
        signed.any(|layer| {
            self.blob(layer).is_ok_and(|payload| {
                let payload = &payload;
                let signature = SimpleSignature { layer, payload };
                self.counts(self.verifier.layer(signature, self.digest, self.name))
            })
        })
    }

    /// Whether a signature counts; keeps why the first one does not.
    fn counts(&self, verdict: Result<(), CosignError>) -> bool {
        match verdict {
            Ok(()) => true,
            Err(error) => {
                self.why.borrow_mut().get_or_insert(error);
                false
            }
        }
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
