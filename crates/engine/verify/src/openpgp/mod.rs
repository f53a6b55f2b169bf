//! Verification of OpenPGP signatures over commits and tags, as `signature.VerifyPGPSignature` of fluxcd/pkg git
//! v0.52.0 does with ProtonMail/go-crypto v1.4.1: it accepts what that accepts, including SHA-1 in old keys, and
//! rejects what that rejects. Keys of versions 5 and 6 and Ed448 are not supported.

mod asymmetric;
mod details;
mod entity;
mod framing;
mod keyring;

use sequoia_openpgp as pgp;

use details::{Details, Unusable};
use framing::Packets;
use keyring::{Ring, RingError};
use pgp::packet::{Packet, Signature};
use pgp::types::SignatureType;

use crate::armour::{self, SignatureKind, trim};

/// Greatest number of signature packets that are read from one armour.
const MAX_SIGNATURES: usize = 1_000;
/// Greatest number of keys with the same id that are tried for one signature.
const MAX_KEYS: usize = 16;

/// Errors of verifying an OpenPGP signature, with upstream's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenPgpError {
    /// The payload is empty.
    #[error("unable to verify payload: payload is empty")]
    PayloadEmpty,
    /// It is not an OpenPGP signature.
    #[error("unable to verify openPGP signature, detected signature format: {0}: signature format mismatch")]
    Format(SignatureKind),
    /// No entry of the Secret is a valid key ring.
    #[error("unable to read armored key ring: {0}")]
    KeyRing(String),
    /// No key matches, or its signature is not valid any more.
    #[error("unable to verify payload with any of the given key rings: no matching key")]
    NoMatchingKey,
}

/// Verifies an armoured signature over a payload with armoured key rings, in their order, at `now` (seconds since
/// 1970-01-01 UTC). Returns the id of the primary key of the signature, 16 hexadecimal digits.
///
/// # Errors
/// [`OpenPgpError`] when no key was accepted.
pub fn verify(signature: &[u8], payload: &[u8], rings: &[&str], now: i64) -> Result<String, OpenPgpError> {
    let signature = trim(signature);
    if payload.is_empty() {
        return Err(OpenPgpError::PayloadEmpty);
    }
    let kind = SignatureKind::of(signature);
    if kind != SignatureKind::OpenPgp {
        return Err(OpenPgpError::Format(kind));
    }
    let signatures = read(signature);
    let mut unread = None;
    let mut attempted = false;
    for ring in rings {
        let verdict = Ring::read(ring.as_bytes()).and_then(|ring| signed_by(&ring, &signatures, payload, now));
        match verdict {
            Ok(Some(id)) => return Ok(id),
            Ok(None) => attempted = true,
            Err(error) => unread = unread.or(Some(error)),
        }
    }
    match unread {
        Some(error) if !attempted => Err(OpenPgpError::KeyRing(error.to_string())),
        _ => Err(OpenPgpError::NoMatchingKey),
    }
}

/// The signatures of an armour up to the first other packet.
fn read(armoured: &[u8]) -> Vec<(Signature, Details)> {
    let mut signatures = Vec::new();
    let Ok(block) = armour::openpgp(armoured) else {
        return signatures;
    };
    if block.label != "PGP SIGNATURE" {
        return signatures;
    }
    for packet in Packets(&block.content) {
        match packet {
            Ok(Some(Packet::Signature(signature))) => match Details::of(&signature) {
                Ok(details) if asymmetric::hash(signature.hash_algo()).is_some() => {
                    signatures.push((signature, details))
                }
                Ok(_) | Err(Unusable::Unsupported) => {}
                Err(Unusable::Structural(_)) => break,
            },
            Ok(None | Some(Packet::Unknown(_) | Packet::Marker(_))) => {}
            Ok(Some(_)) | Err(_) => break,
        }
        if signatures.len() >= MAX_SIGNATURES {
            break;
        }
    }
    signatures
}

/// The key of a ring that made a signature. Only the first signature with a key in the ring is checked.
fn signed_by(
    ring: &Ring,
    signatures: &[(Signature, Details)],
    payload: &[u8],
    now: i64,
) -> Result<Option<String>, RingError> {
    for (signature, details) in signatures {
        let Some(issuer) = details.issuer() else {
            return Ok(None);
        };
        let entities = ring.with(issuer)?;
        let signers = || {
            entities
                .iter()
                .filter_map(|entity| Some((entity, entity.signer(issuer)?)))
        };
        if signers().next().is_none() {
            continue;
        }
        let Some(digest) = digest(signature, payload) else {
            return Ok(None);
        };
        let signing = signers()
            .take(MAX_KEYS)
            .find(|(_, signer)| signer.made(signature, &digest));
        let valid = signing.filter(|(_, signer)| signer.validates(details, now));
        return Ok(valid.map(|(entity, _)| entity.id()));
    }
    Ok(None)
}

fn digest(signature: &Signature, payload: &[u8]) -> Option<Vec<u8>> {
    match signature.typ() {
        SignatureType::Binary => entity::message_digest(signature, payload),
        SignatureType::Text => entity::message_digest(signature, &with_crlf(payload)),
        _ => None,
    }
}

/// A text with CRLF line endings, as OpenPGP hashes it.
fn with_crlf(text: &[u8]) -> Vec<u8> {
    let mut converted = Vec::with_capacity(text.len());
    let mut before = 0;
    for byte in text {
        if *byte == b'\n' && before != b'\r' {
            converted.push(b'\r');
        }
        converted.push(*byte);
        before = *byte;
    }
    converted
}
