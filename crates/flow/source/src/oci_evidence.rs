//! Signatures of cosign: collected from the registry, judged by `verify` (source-controller v1.9,
//! `CosignVerifier.Verify`).

use std::cell::RefCell;

use super::oci_pull::{Kept, OciRemote};
use bumpwright_verify::cosign::{self, CosignError, MAX_BLOB, MAX_LAYERS, SimpleSignature, Verifier};

/// Verifies the content of a digest: by the bundles of cosign 3 and the signatures of cosign 2 among the referrers,
/// then by those below the tag for signatures. One that counts is enough.
///
/// # Errors
/// [`CosignError`]: why the first one does not count. Signatures that the registry fails to return do not.
pub fn verify_cosign(remote: &OciRemote, digest: &str, verifier: &Verifier) -> Result<(), CosignError> {
    let name = remote.name(&format!("@{digest}"));
    let gathering = Gathering {
        remote,
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
        Some(why @ (CosignError::Unproven { .. } | CosignError::NoMemory(_))) => Err(why),
        _ => Err(verifier.unsigned(&name)),
    }
}

/// Judges signatures one by one: a registry may send thousands of large ones.
struct Gathering<'a> {
    remote: &'a OciRemote,
    verifier: &'a Verifier,
    digest: &'a str,
    /// The image in messages.
    name: &'a str,
    /// Why the first signature does not count.
    why: RefCell<Option<CosignError>>,
}

impl Gathering<'_> {
    /// Whether a signature among the manifests that refer to an image matches.
    fn referring(&self) -> Result<bool, CosignError> {
        let mut count = 0;
        for page in self.remote.referrers(self.digest).map_err(CosignError::Referrers)? {
            let referrers = match cosign::referrers(&page) {
                Err(CosignError::Manifest(_)) => continue,
                referrers => referrers?,
            };
            count += referrers.len();
            if count > MAX_LAYERS {
                return Err(CosignError::TooMany(count));
            }
            if self.listed(&referrers) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether one of these referrers is a signature that matches.
    fn listed(&self, referrers: &[String]) -> bool {
        // Those that are unavailable are skipped; they may not be signatures at all.
        let mut manifests = referrers
            .iter()
            .filter_map(|referrer| self.remote.manifest(&format!("@{referrer}")));
        manifests.any(|manifest| match cosign::bundle_layer(&manifest) {
            Some(layer) => self
                .blob(&layer)
                .is_some_and(|blob| self.counts(self.verifier.bundle(&blob.bytes, self.digest, self.name))),
            None => cosign::signature_layers(&manifest).is_ok_and(|layers| self.simple(&layers)),
        })
    }

    /// Whether a signature below the signature tag matches.
    fn tagged(&self) -> Result<bool, CosignError> {
        let tag = self.verifier.tag(self.digest);
        let manifest = tag.and_then(|tag| self.remote.manifest(&format!(":{tag}")));
        match manifest {
            Some(manifest) => Ok(self.simple(&cosign::signature_layers(&manifest)?)),
            None => Ok(false),
        }
    }

    /// Whether one of these layers is a simple signature that matches.
    fn simple(&self, layers: &[cosign::Layer]) -> bool {
        let mut signed = layers.iter().filter(|layer| self.verifier.wants(layer));
        signed.any(|layer| {
            self.blob(layer).is_some_and(|payload| {
                let payload = &payload.bytes;
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

    /// The blob of a layer. Too little memory for it is reported rather than what is wrong with other signatures.
    fn blob(&self, layer: &cosign::Layer) -> Option<Kept> {
        let blob = self.remote.blob(&layer.digest, layer.size, MAX_BLOB as u64);
        blob.unwrap_or_else(|exceeded| {
            *self.why.borrow_mut() = Some(exceeded.into());
            None
        })
    }
}
