//! DSSE envelopes around statements of in-toto: signatures of cosign 3, attestations.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::Value;

/// Base64 as accepted by protobuf's JSON.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const IN_TOTO: &str = "application/vnd.in-toto+json";
/// Greatest number of subjects of a statement, as in sigstore-go.
const MAX_SUBJECTS: usize = 1024;
/// SLSA's provenance: the types of its versions, and where each has the builder's name.
const PROVENANCE: [(&str, &str); 2] = [
    ("https://slsa.dev/provenance/v1", "/runDetails/builder/id"),
    ("https://slsa.dev/provenance/v0.2", "/builder/id"),
];

/// An attestation that is wanted instead of a signature: SLSA's provenance, of this builder if it is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attestation {
    /// The builder's `id`, exactly.
    pub builder: Option<String>,
}

/// Why a statement is not the attestation that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAttested {
    /// It is a statement of another type.
    Type,
    /// Another builder built the image.
    Builder,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
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
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(default)]
    subject: Vec<Subject>,
    #[serde(default)]
    predicate_type: String,
    #[serde(default)]
    predicate: Value,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(default)]
    digest: BTreeMap<String, String>,
}

/// An envelope with its only signature.
#[derive(Debug)]
pub(crate) struct Signed {
    payload_type: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl Envelope {
    /// Decodes the envelope. `None` when its base64 is not valid, `Some(None)` unless it is signed exactly once.
    pub(crate) fn open(self) -> Option<Option<Signed>> {
        let payload = decode_lenient(&self.payload)?;
        let signatures = self.signatures.iter();
        let signatures: Option<Vec<_>> = signatures.map(|signature| decode_lenient(&signature.sig)).collect();
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
    pub(crate) fn encoding(&self) -> Vec<u8> {
        let (kind, body) = (&self.payload_type, &self.payload);
        let mut encoding = format!("DSSEv1 {} {kind} {} ", kind.len(), body.len()).into_bytes();
        encoding.extend_from_slice(body);
        encoding
    }

    /// Whether it is a statement that has this image among its subjects. An invalid digest makes the statement invalid, as in
    /// sigstore-go.
    pub(crate) fn names(&self, digest: &str) -> bool {
        let (Some(statement), Some((algorithm, hex))) = (self.statement(), digest.split_once(':')) else {
            return false;
        };
        let is_hex = |text: &str| text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digests = || statement.subject.iter().flat_map(|subject| &subject.digest);
        statement.subject.len() <= MAX_SUBJECTS
            && digests().all(|(_, hex)| is_hex(hex))
            && digests().any(|(name, found)| name == algorithm && found.eq_ignore_ascii_case(hex))
    }

    /// Whether it is the attestation that is wanted.
    pub(crate) fn attests(&self, wanted: &Attestation) -> Result<(), NotAttested> {
        let statement = self.statement().ok_or(NotAttested::Type)?;
        let kind = PROVENANCE.iter().find(|(kind, _)| *kind == statement.predicate_type);
        let (_, place) = kind.ok_or(NotAttested::Type)?;
        let builder = statement.predicate.pointer(place).and_then(Value::as_str);
        match &wanted.builder {
            Some(wanted) if builder != Some(wanted.as_str()) => Err(NotAttested::Builder),
            _ => Ok(()),
        }
    }

    fn statement(&self) -> Option<Statement> {
        let statement = serde_json::from_slice(&self.payload).ok();
        statement.filter(|_| self.payload_type == IN_TOTO)
    }
}

/// Base64 of either alphabet, padded or not.
pub(crate) fn decode_lenient(text: &str) -> Option<Vec<u8>> {
    let alphabet = if text.contains(['-', '_']) {
        &URL_SAFE
    } else {
        &STANDARD
    };
    GeneralPurpose::new(alphabet, LENIENT).decode(text).ok()
}
