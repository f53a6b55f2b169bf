//! The older format: a layer with a small signed JSON text for each signature ("simple signing" of containers/image,
//! with cosign's own type).

use base64::Engine as _;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::envelope::{Attestation, Envelope};
use super::layer::Layer;
use super::public_key::PublicKey;
use crate::armour::BASE64;
use crate::sigstore::to_hex;

/// `critical.type` of cosign's payloads.
const TYPE: &str = "cosign container image signature";

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    r#type: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// A layer with its content.
#[derive(Clone, Copy, Debug)]
pub struct SimpleSignature<'a> {
    /// The layer in the manifest.
    pub layer: &'a Layer,
    pub payload: &'a [u8],
}

impl SimpleSignature<'_> {
    /// Whether the content has the layer's digest, names this image, and is signed by the key. Flux does not compare
    /// the image's digest, so that there a signature of any image is valid for any other; cosign's own program does.
    pub(super) fn holds(&self, digest: &str, key: &PublicKey) -> bool {
        let signature = self.signature();
        signature
            .is_some_and(|signature| self.is_of_layer() && self.names(digest) && key.verify(self.payload, &signature))
    }

    /// Whether the layer is an envelope with this attestation of the image, signed by the key.
    pub(super) fn attests(&self, digest: &str, key: &PublicKey, wanted: &Attestation) -> bool {
        let envelope: Option<Envelope> = serde_json::from_slice(self.payload).ok();
        let envelope = envelope.and_then(Envelope::open).flatten();
        envelope.is_some_and(|envelope| {
            self.is_of_layer()
                && key.verify(&envelope.encoding(), &envelope.signature)
                && envelope.names(digest)
                && envelope.attests(wanted).is_ok()
        })
    }

    pub(crate) fn signature(&self) -> Option<Vec<u8>> {
        self.layer.signature.as_ref().and_then(|text| BASE64.decode(text).ok())
    }

    /// Whether the content is the layer's.
    pub(crate) fn is_of_layer(&self) -> bool {
        hex_digest(self.payload) == self.layer.digest
    }

    /// Whether it is about the image with this digest.
    pub(crate) fn names(&self, digest: &str) -> bool {
        let payload: Result<Payload, _> = serde_json::from_slice(self.payload);
        payload.is_ok_and(|payload| payload.critical.image.digest == digest && payload.critical.r#type == TYPE)
    }
}

/// A digest in the form of registries.
fn hex_digest(content: &[u8]) -> String {
    format!("sha256:{}", to_hex(&Sha256::digest(content)))
}
