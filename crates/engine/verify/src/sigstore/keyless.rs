//! Verification of a signature with a certificate: of when, by whom and over what.

use serde::Deserialize;

use super::json::Bytes;
use super::material::{Entry, MAX_ENTRIES, MAX_TIMESTAMPS, Subject};
use super::trusted_root::{Authority, CertificateJson};
use super::{Evidence, Keyless, SigstoreError, certificate_log, identity::Signer};
use crate::cosign::{Attestation, Envelope, NotAttested, Signed};
use crate::digest::Hash;
use crate::x509::{CODE_SIGNING, Certificate, ChainError, Timestamp, verify_chain};
use bumpwright_budget::Few;

const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Option<Envelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    certificate: Option<CertificateJson>,
    x509_certificate_chain: Option<Chain>,
    #[serde(default)]
    tlog_entries: Few<Entry, { MAX_ENTRIES + 1 }>,
    timestamp_verification_data: Option<Timestamps>,
}

#[derive(Deserialize)]
struct Chain {
    #[serde(default)]
    certificates: Few<CertificateJson, 1>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Timestamps {
    #[serde(default)]
    rfc3161_timestamps: Few<TimestampJson, { MAX_TIMESTAMPS + 1 }>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TimestampJson {
    signed_timestamp: Bytes,
}

/// A signature with what it comes with.
pub(super) struct Candidate<'a> {
    pub(super) certificate: Certificate,
    pub(super) entries: Vec<Entry>,
    pub(super) timestamps: Vec<Vec<u8>>,
    pub(super) wanted: Evidence,
    /// The hash function, where it is not that of the key.
    pub(super) hash: Option<Hash>,
    pub(super) content: Content<'a>,
    pub(super) signature: &'a [u8],
}

#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    Bytes(&'a [u8]),
    Envelope(&'a Signed),
}

pub(super) fn bundle(
    keyless: &Keyless,
    text: &[u8],
    digest: &str,
    wanted: Option<&Attestation>,
) -> Result<(), SigstoreError> {
    let json: Json = serde_json::from_slice(text).map_err(|_| SigstoreError::Bundle)?;
    let evidence = evidence(&json.media_type).ok_or(SigstoreError::Bundle)?;
    let material = json.verification_material;
    let chain = material.x509_certificate_chain;
    let first = || chain.and_then(|chain| chain.certificates.few.into_iter().next());
    let certificate = material
        .certificate
        .or_else(first)
        .ok_or(SigstoreError::NoCertificate)?;
    let envelope = json.dsse_envelope.and_then(Envelope::open).flatten();
    let envelope = envelope.ok_or(SigstoreError::Bundle)?;
    let timestamps = material.timestamp_verification_data.into_iter();
    let timestamps = timestamps.flat_map(|data| data.rfc3161_timestamps.few);
    let candidate = Candidate {
        certificate: Certificate::read(&certificate.raw_bytes.0).ok_or(SigstoreError::Certificate)?,
        entries: material.tlog_entries.few,
        timestamps: timestamps.map(|timestamp| timestamp.signed_timestamp.0).collect(),
        wanted: evidence,
        hash: None,
        content: Content::Envelope(&envelope),
        signature: &envelope.signature,
    };
    candidate.verify(keyless)?;
    check_statement(&envelope, digest, wanted)
}

/// What the version of a bundle has to have.
fn evidence(media_type: &str) -> Option<Evidence> {
    let version = media_type.strip_prefix(MEDIA_TYPE)?;
    let version = match version.strip_prefix("+json;version=") {
        Some(version) => version,
        None => version.strip_prefix(".v")?.strip_suffix("+json")?,
    };
    let is_patch = |version: &str| {
        version
            .strip_prefix("0.3.")
            .is_some_and(|patch| patch.parse::<u32>().is_ok())
    };
    match version {
        "0.1" => Some(Evidence::Promise),
        "0.2" | "0.3" => Some(Evidence::Proof),
        other => is_patch(other).then_some(Evidence::Proof),
    }
}

pub(super) fn check_statement(
    envelope: &Signed,
    digest: &str,
    wanted: Option<&Attestation>,
) -> Result<(), SigstoreError> {
    if !envelope.names(digest) {
        return Err(SigstoreError::OtherImage);
    }
    match wanted.map_or(Ok(()), |wanted| envelope.attests(wanted)) {
        Ok(()) => Ok(()),
        Err(NotAttested::Type) => Err(SigstoreError::NotProvenance),
        Err(NotAttested::Builder) => Err(SigstoreError::Builder),
    }
}

impl Candidate<'_> {
    /// Verifies all but what the content says.
    pub(super) fn verify(&self, keyless: &Keyless) -> Result<(), SigstoreError> {
        if self.entries.len() > MAX_ENTRIES || self.timestamps.len() > MAX_TIMESTAMPS {
            return Err(SigstoreError::Many);
        }
        let key = self.certificate.public_key().ok_or(SigstoreError::Certificate)?;
        let (signed, payload) = match self.content {
            Content::Bytes(bytes) => (bytes.to_vec(), None),
            Content::Envelope(envelope) => (envelope.encoding(), Some(envelope.payload.as_slice())),
        };
        let subject = Subject {
            signed,
            hash: self.hash.unwrap_or(key.hash()),
            payload,
            signature: self.signature,
            verifier: &self.certificate.der,
        };
        let times = self.times(keyless, &subject)?;
        let authority = self.authority(keyless, &times)?;
        if !keyless.root.certificate_logs.is_empty() {
            certificate_log::verify(&self.certificate, &authority.chain, &keyless.root.certificate_logs)?;
        }
        if !key.verify_hashed(subject.hash, &subject.signed, self.signature) {
            return Err(SigstoreError::Signature);
        }
        let signer = Signer::of(&self.certificate);
        if signer.is_accepted(&keyless.identities) {
            Ok(())
        } else {
            Err(SigstoreError::Identity(signer.shown()))
        }
    }

    /// The times at which the signature was seen: at least one, each signed by a log or an authority.
    fn times(&self, keyless: &Keyless, subject: &Subject<'_>) -> Result<Vec<i64>, SigstoreError> {
        let mut times = Vec::new();
        let mut logged = false;
        for entry in &self.entries {
            let logged_at = entry.verify(&keyless.root, subject, self.wanted)?;
            logged |= logged_at.is_some();
            times.extend(logged_at.flatten());
        }
        if !logged {
            return Err(SigstoreError::NoEntry);
        }
        // Timestamps of unknown authorities prove nothing, but do no harm beside one that proves the time.
        let authorities = &keyless.root.timestamp_authorities;
        let stamped = self
            .timestamps
            .iter()
            .filter_map(|timestamp| stamped(timestamp, self.signature, authorities));
        times.extend(stamped);
        match (times.is_empty(), self.timestamps.is_empty()) {
            (false, _) => Ok(times),
            (true, true) => Err(SigstoreError::NoTime),
            (true, false) => Err(SigstoreError::Timestamp),
        }
    }

    /// The authority that issued the certificate, which was valid at each of the times.
    fn authority<'k>(&self, keyless: &'k Keyless, times: &[i64]) -> Result<&'k Authority, SigstoreError> {
        let mut why = ChainError::Issuer;
        for authority in &keyless.root.authorities {
            let Some((root, intermediates)) = authority.chain.split_last() else {
                continue;
            };
            let at = |time: &i64| {
                if authority.period.has(*time) {
                    verify_chain(&self.certificate, intermediates, root, *time, CODE_SIGNING)
                } else {
                    Err(ChainError::Validity)
                }
            };
            match times.iter().try_for_each(at) {
                Ok(()) => return Ok(authority),
                // That another authority did not issue it says less.
                Err(ChainError::Issuer) => {}
                Err(error) => why = error,
            }
        }
        Err(why.into())
    }
}

/// The time of a timestamp over a signature.
fn stamped(timestamp: &[u8], signature: &[u8], authorities: &[Authority]) -> Option<i64> {
    let timestamp = Timestamp::read_response(timestamp)?;
    authorities.iter().find_map(|authority| {
        let time = timestamp.verify(signature, &authority.chain)?;
        authority.period.has(time).then_some(time)
    })
}
