//! Whose signatures or attestations of an image count, and the verification of one after the other.

use super::{Attestation, CosignError, CosignKeys, Evidence, MAX_BLOB, SimpleSignature};
use crate::sigstore::{Keyless, SigstoreError};

/// The type of layers with attestations.
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";

/// Whose signatures count, and which attestation has to be there instead of a signature.
#[derive(Clone, Debug)]
pub struct Verifier {
    signers: Signers,
    attestation: Option<Attestation>,
}

#[derive(Clone, Debug)]
enum Signers {
    Keys(CosignKeys),
    Keyless(Box<Keyless>),
}

impl Verifier {
    /// Signatures made with keys.
    #[must_use]
    pub fn of_keys(keys: CosignKeys) -> Self {
        Self {
            signers: Signers::Keys(keys),
            attestation: None,
        }
    }

    /// Signatures made with certificates.
    #[must_use]
    pub fn keyless(keyless: Keyless) -> Self {
        Self {
            signers: Signers::Keyless(Box::new(keyless)),
            attestation: None,
        }
    }

    #[must_use]
    pub fn attested(self, attestation: Option<Attestation>) -> Self {
        Self { attestation, ..self }
    }

    /// The tag below which cosign 2 has what is wanted of an image.
    #[must_use]
    pub fn tag(&self, digest: &str) -> Option<String> {
        match self.attestation {
            Some(_) => super::manifest::attestation_tag(digest),
            None => super::signature_tag(digest),
        }
    }

    /// Whether cosign 2 may have what is wanted in this layer.
    #[must_use]
    pub fn wants(&self, layer: &super::Layer) -> bool {
        match self.attestation {
            Some(_) => layer.media_type == ENVELOPE,
            None => layer.signature.is_some(),
        }
    }

    /// Verifies the blob of a bundle.
    ///
    /// # Errors
    /// Why it does not count; [`CosignError::NoMatch`] for signatures with keys.
    pub fn bundle(&self, blob: &[u8], digest: &str, reference: &str) -> Result<(), CosignError> {
        let wanted = self.attestation.as_ref();
        match &self.signers {
            Signers::Keys(keys) => {
                let bundles: &[&[u8]] = &[blob];
                let evidence = Evidence { bundles, layers: &[] };
                keys.verify(digest, reference, &evidence, wanted).map(drop)
            }
            Signers::Keyless(_) if blob.len() > MAX_BLOB => Err(unproven(reference, SigstoreError::Bundle)),
            Signers::Keyless(keyless) => keyless
                .bundle(blob, digest, wanted)
                .map_err(|why| unproven(reference, why)),
        }
    }

    /// Verifies a layer of cosign 2.
    pub fn layer(&self, layer: SimpleSignature<'_>, digest: &str, reference: &str) -> Result<(), CosignError> {
        let wanted = self.attestation.as_ref();
        match &self.signers {
            Signers::Keys(keys) => {
                let layers: &[SimpleSignature<'_>] = &[layer];
                let evidence = Evidence { bundles: &[], layers };
                keys.verify(digest, reference, &evidence, wanted).map(drop)
            }
            Signers::Keyless(_) if layer.payload.len() > MAX_BLOB => Err(unproven(reference, SigstoreError::Bundle)),
            Signers::Keyless(keyless) => keyless
                .layer(&layer, digest, wanted)
                .map_err(|why| unproven(reference, why)),
        }
    }

    /// Why an image without any signature is not verified.
    #[must_use]
    pub fn unsigned(&self, reference: &str) -> CosignError {
        match &self.signers {
            Signers::Keys(keys) => match keys.verify("", reference, &Evidence::default(), None) {
                Err(error) => error,
                Ok(_) => CosignError::NoMatch(reference.to_owned()),
            },
            Signers::Keyless(_) => CosignError::NoMatch(reference.to_owned()),
        }
    }
}

fn unproven(reference: &str, why: SigstoreError) -> CosignError {
    let reference = reference.to_owned();
    CosignError::Unproven { reference, why }
}
