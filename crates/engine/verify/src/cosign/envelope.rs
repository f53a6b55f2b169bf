//! DSSE envelopes around statements of in-toto: signatures of cosign 3, attestations.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use bumpwright_budget::{Few, FewTexts};

/// Base64 as accepted by protobuf's JSON.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const IN_TOTO: &str = "application/vnd.in-toto+json";
/// Greatest number of subjects of a statement, as in sigstore-go.
const MAX_SUBJECTS: usize = 1024;
/// Greatest number of digests of a subject that are kept: one for each algorithm there is, and some.
const MAX_DIGESTS: usize = 64;
/// The types of SLSA's provenance.
const PROVENANCE_1: &str = "https://slsa.dev/provenance/v1";
const PROVENANCE_0_2: &str = "https://slsa.dev/provenance/v0.2";

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
    signatures: Few<Signature, 2>,
}

#[derive(Deserialize)]
struct Signature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(default)]
    subject: Few<Subject, MAX_SUBJECTS>,
    #[serde(default)]
    predicate_type: String,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(default)]
    digest: FewTexts<MAX_DIGESTS>,
}

/// What of a statement's predicate counts: the whole may take many times its bytes in memory.
#[derive(Deserialize)]
struct About<T> {
    predicate: T,
}

/// The predicate of SLSA's provenance 1.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Provenance1 {
    run_details: Provenance02,
}

/// That of 0.2, and the part of 1 that is like it.
#[derive(Deserialize)]
struct Provenance02 {
    builder: Builder,
}

#[derive(Deserialize)]
struct Builder {
    id: String,
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

    /// Whether it is a statement that has this image among its subjects. An invalid digest makes the statement
    /// invalid, as in sigstore-go.
    pub(crate) fn names(&self, digest: &str) -> bool {
        let (Some(statement), Some((algorithm, hex))) = (self.statement(), digest.split_once(':')) else {
            return false;
        };
        let is_hex = |text: &str| text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digests = || statement.subject.iter().flat_map(|subject| &subject.digest.0);
        statement.subject.left_out == 0
            && digests().all(|(_, hex)| is_hex(hex))
            && digests().any(|(name, found)| name == algorithm && found.eq_ignore_ascii_case(hex))
    }

    /// Whether it is the attestation that is wanted.
    pub(crate) fn attests(&self, wanted: &Attestation) -> Result<(), NotAttested> {
        let statement = self.statement().ok_or(NotAttested::Type)?;
        let builder = match statement.predicate_type.as_str() {
            PROVENANCE_1 => self
                .about::<Provenance1>()
                .map(|provenance| provenance.run_details.builder),
            PROVENANCE_0_2 => self.about::<Provenance02>().map(|provenance| provenance.builder),
            _ => return Err(NotAttested::Type),
        };
        match &wanted.builder {
            Some(wanted) if builder.is_none_or(|builder| builder.id != *wanted) => Err(NotAttested::Builder),
            _ => Ok(()),
        }
    }

    /// Of the statement's predicate what is asked for, if all of it is there.
    fn about<T: for<'de> Deserialize<'de>>(&self) -> Option<T> {
        let about: Option<About<T>> = serde_json::from_slice(&self.payload).ok();
        about.map(|about| about.predicate)
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
