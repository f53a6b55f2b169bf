//! Signatures and attestations of cosign 2, whose certificate, log entry and timestamp are annotations of a layer.

use serde::Deserialize;

use super::json::{Bytes, hex};
use super::keyless::{Candidate, Content, check_statement};
use super::material::{Entry, LogId, Promise};
use super::{Evidence, Keyless, SigstoreError};
use crate::cosign::{Attestation, Envelope, SimpleSignature};
use crate::digest::Hash;
use crate::x509::Certificate;
use bumpwright_gostd::decode_pem;

/// The annotation `dev.sigstore.cosign/bundle`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Bundle {
    signed_entry_timestamp: Bytes,
    payload: Payload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    body: Bytes,
    integrated_time: i64,
    log_index: i64,
    #[serde(rename = "logID")]
    log_id: String,
}

/// The annotation `dev.sigstore.cosign/rfc3161timestamp`.
#[derive(Deserialize)]
struct Stamp {
    #[serde(rename = "SignedRFC3161Timestamp")]
    timestamp: Bytes,
}

pub(super) fn verify(
    keyless: &Keyless,
    layer: &SimpleSignature<'_>,
    digest: &str,
    wanted: Option<&Attestation>,
) -> Result<(), SigstoreError> {
    let notes = &layer.layer.notes;
    let certificate = notes.certificate.as_ref().ok_or(SigstoreError::NoCertificate)?;
    let certificate = decode_pem(certificate.as_bytes()).and_then(|block| Certificate::read(&block.bytes));
    let certificate = certificate.ok_or(SigstoreError::Certificate)?;
    let entries = match &notes.log {
        Some(text) => vec![entry(text).ok_or(SigstoreError::NoEntry)?],
        None => Vec::new(),
    };
    let timestamps = match &notes.timestamp {
        Some(text) => {
            let stamp: Stamp = serde_json::from_str(text).map_err(|_| SigstoreError::Timestamp)?;
            vec![stamp.timestamp.0]
        }
        None => Vec::new(),
    };
    let candidate = |content, signature| Candidate {
        certificate,
        entries,
        timestamps,
        wanted: Evidence::Promise,
        // cosign 2 signs with SHA-256, whatever the key.
        hash: Some(Hash::Sha256),
        content,
        signature,
    };
    if !layer.is_of_layer() {
        return Err(SigstoreError::OtherImage);
    }
    match wanted {
        None => {
            let signature = layer.signature().ok_or(SigstoreError::Signature)?;
            candidate(Content::Bytes(layer.payload), &signature).verify(keyless)?;
            if layer.names(digest) {
                Ok(())
            } else {
                Err(SigstoreError::OtherImage)
            }
        }
        Some(_) => {
            let envelope: Option<Envelope> = serde_json::from_slice(layer.payload).ok();
            let envelope = envelope
                .and_then(Envelope::open)
                .flatten()
                .ok_or(SigstoreError::NotProvenance)?;
            candidate(Content::Envelope(&envelope), &envelope.signature).verify(keyless)?;
            check_statement(&envelope, digest, wanted)
        }
    }
}

fn entry(text: &str) -> Option<Entry> {
    let bundle: Bundle = serde_json::from_str(text).ok()?;
    Some(Entry {
        log_index: super::json::Number(bundle.payload.log_index),
        log_id: LogId {
            key_id: Bytes(hex(&bundle.payload.log_id)?),
        },
        integrated_time: super::json::Number(bundle.payload.integrated_time),
        inclusion_promise: Some(Promise {
            signed_entry_timestamp: bundle.signed_entry_timestamp,
        }),
        inclusion_proof: None,
        canonicalized_body: bundle.payload.body,
    })
}
