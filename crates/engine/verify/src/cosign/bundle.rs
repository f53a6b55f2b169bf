//! The newer format: sigstore's bundle (v0.3) with a DSSE envelope around a statement of in-toto, as cosign 3 stores it and
//! sigstore-go v1.2.0 verifies it with a key. Entries of transparency logs are not verified, as in Flux with keys.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use std::collections::BTreeMap;

use super::public_key::PublicKey;

/// Base64 as accepted by protobuf's JSON.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const IN_TOTO: &str = "application/vnd.in-toto+json";
/// Greatest number of subjects of a statement, as in sigstore-go.
const MAX_SUBJECTS: usize = 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Option<Envelope>,
    message_signature: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    public_key: Option<serde_json::Value>,
    certificate: Option<serde_json::Value>,
    #[serde(default)]
    tlog_entries: Vec<LogEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogEntry {
    inclusion_proof: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    #[serde(default)]
    signatures: Vec<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    sig: String,
}

#[derive(Deserialize)]
struct Statement {
    #[serde(default)]
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(default)]
    digest: BTreeMap<String, String>,
}

/// A valid bundle. Invalid ones are ignored.
#[derive(Debug)]
pub(super) struct Bundle {
    /// `None` when it is signed with a certificate, or over a message: no key verifies such.
    signed: Option<Signed>,
}

#[derive(Debug)]
struct Signed {
    payload_type: String,
    payload: Vec<u8>,
    signature: Vec<u8>,
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

    /// Whether it is a signature of this image by the key.
    pub(super) fn holds(&self, digest: &str, key: &PublicKey) -> bool {
        self.signed.as_ref().is_some_and(|signed| {
            signed.payload_type == IN_TOTO
                && key.verify(&signed.encoding(), &signed.signature)
                && names(&signed.payload, digest)
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

impl Envelope {
    /// Decodes the envelope. `None` when its base64 is not valid, `Some(None)` unless it is signed exactly once.
    fn open(self) -> Option<Option<Signed>> {
        let payload = bytes(&self.payload)?;
        let signatures: Option<Vec<_>> = self.signatures.iter().map(|signature| bytes(&signature.sig)).collect();
        let mut signatures = signatures?.into_iter();
        let signature = signatures.next().filter(|_| signatures.next().is_none());
        Some(signature.map(|signature| Signed {
            payload_type: self.payload_type,
            payload,
            signature,
        }))
    }
}

impl Signed {
    /// The bytes that DSSE signs (Pre-Authentication Encoding).
    fn encoding(&self) -> Vec<u8> {
        let (kind, body) = (&self.payload_type, &self.payload);
        let mut encoding = format!("DSSEv1 {} {kind} {} ", kind.len(), body.len()).into_bytes();
        encoding.extend_from_slice(body);
        encoding
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let alphabet = if text.contains(['-', '_']) {
        &URL_SAFE
    } else {
        &STANDARD
    };
    GeneralPurpose::new(alphabet, LENIENT).decode(text).ok()
}

/// Whether a statement has this image among its subjects. An invalid digest makes the statement invalid, as in sigstore-go.
fn names(statement: &[u8], digest: &str) -> bool {
    let Ok(statement) = serde_json::from_slice::<Statement>(statement) else {
        return false;
    };
    let Some((algorithm, hex)) = digest.split_once(':') else {
        return false;
    };
    let is_hex = |text: &str| text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digests = || statement.subject.iter().flat_map(|subject| &subject.digest);
    statement.subject.len() <= MAX_SUBJECTS
        && digests().all(|(_, hex)| is_hex(hex))
        && digests().any(|(name, found)| name == algorithm && found.eq_ignore_ascii_case(hex))
}
