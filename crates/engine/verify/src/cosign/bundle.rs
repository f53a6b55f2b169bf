//! The newer format: sigstore's bundle (v0.3) with a DSSE envelope around a statement of in-toto, as cosign 3 stores it
//! and sigstore-go v1.2.0 verifies it with a key. Entries of transparency logs are not verified, as in Flux with keys.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::envelope::{Attestation, Envelope, Signed};
use super::public_key::PublicKey;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Option<Envelope>,
    message_signature: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    public_key: Option<IgnoredAny>,
    certificate: Option<IgnoredAny>,
    #[serde(default)]
    tlog_entries: Vec<LogEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogEntry {
    inclusion_proof: Option<IgnoredAny>,
}

/// A valid bundle. Invalid ones are ignored.
#[derive(Debug)]
pub(super) struct Bundle {
    /// `None` when it is signed with a certificate, or over a message: no key verifies such.
    signed: Option<Signed>,
}

impl Bundle {
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let json: Json = serde_json::from_slice(text).ok()?;
        let material = &json.verification_material;
        let has_material = material.public_key.is_some() != material.certificate.is_some();
        let has_content = json.dsse_envelope.is_some() != json.message_signature.is_some();
        let proven = material
            .tlog_entries
            .iter()
            .all(|entry| entry.inclusion_proof.is_some());
        if !is_known(&json.media_type) || !has_material || !has_content || !proven {
            return None;
        }
        let by_key = material.public_key.is_some();
        let signed = match json.dsse_envelope {
            Some(envelope) => envelope.open()?.filter(|_| by_key),
            None => None,
        };
        Some(Self { signed })
    }

    /// Whether it is a signature of this image by the key, and the attestation that is wanted.
    pub(super) fn holds(&self, digest: &str, key: &PublicKey, wanted: Option<&Attestation>) -> bool {
        self.signed.as_ref().is_some_and(|signed| {
            key.verify(&signed.encoding(), &signed.signature)
                && signed.names(digest)
                && wanted.is_none_or(|wanted| signed.attests(wanted).is_ok())
        })
    }
}

/// Whether it is version 0.3, in either spelling; cosign rejects older versions, sigstore-go newer ones.
fn is_known(media_type: &str) -> bool {
    const OLD: &str = "application/vnd.dev.sigstore.bundle+json;version=0.3";
    let version = media_type.strip_prefix("application/vnd.dev.sigstore.bundle.v0.3");
    let version = version.and_then(|version| version.strip_suffix("+json"));
    let patch = |version: &str| {
        version.is_empty()
            || version
                .strip_prefix('.')
                .is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
    };
    media_type == OLD || version.is_some_and(patch)
}
