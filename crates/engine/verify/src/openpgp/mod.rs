//! OpenPGP signatures over commits and tags, verified as `signature.VerifyPGPSignature` of fluxcd/pkg git v0.52.0 does with
//! ProtonMail/go-crypto v1.4.1: what that takes is taken, SHA-1 in old keys too, and what it refuses is refused. Keys of
//! versions 5 and 6 and Ed448 are not read.

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

/// Signature packets that are looked at in one armour.
const MOST_SIGNATURES: usize = 1_000;
/// Keys with the same id that are tried for one signature.
const MOST_KEYS: usize = 16;

/// Why an OpenPGP signature was not accepted, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenPgpError {
    /// There is nothing that was signed.
    #[error("unable to verify payload: payload is empty")]
    PayloadEmpty,
    /// It is no OpenPGP signature.
    #[error("unable to verify openPGP signature, detected signature format: {0}: signature format mismatch")]
    Format(SignatureKind),
    /// No entry of the Secret is a key ring.
    #[error("unable to read armored key ring: {0}")]
    KeyRing(String),
    /// No key fits, or what it says does not count any more.
    #[error("unable to verify payload with any of the given key rings: no matching key")]
    NoMatchingKey,
}

/// Verifies an armoured signature over a payload with armoured key rings, in their order, at `now` (seconds since 1970-01-01
/// UTC). Gives the id of the primary key whose signature it is, 16 hexadecimal digits.
///
/// # Errors
/// [`OpenPgpError`] says why no key was accepted.
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

/// The signatures of an armour up to the first packet that is none.
fn read(armoured: &[u8]) -> Vec<(Signature, Details)> {
    let mut found = Vec::new();
    let Ok(block) = armour::openpgp(armoured) else {
        return found;
    };
    if block.label != "PGP SIGNATURE" {
        return found;
    }
    for packet in Packets(&block.content) {
        match packet {
            Ok(Some(Packet::Signature(signature))) => match Details::of(&signature) {
                Ok(details) if asymmetric::hash(signature.hash_algo()).is_some() => found.push((signature, details)),
                Ok(_) | Err(Unusable::Unsupported) => {}
                Err(Unusable::Structural(_)) => break,
            },
            Ok(None | Some(Packet::Unknown(_) | Packet::Marker(_))) => {}
            Ok(Some(_)) | Err(_) => break,
        }
        if found.len() >= MOST_SIGNATURES {
            break;
        }
    }
    found
}

/// The key of a ring that a signature is of. Only the first signature that the ring has a key for is looked at.
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
        let parts = || {
            entities
                .iter()
                .filter_map(|entity| Some((entity, entity.part(issuer)?)))
        };
        if parts().next().is_none() {
            continue;
        }
        let Some(digest) = digest(signature, payload) else {
            return Ok(None);
        };
        let made = parts().take(MOST_KEYS).find(|(_, part)| part.made(signature, &digest));
        let vouched = made.filter(|(_, part)| part.vouches(details, now));
        return Ok(vouched.map(|(entity, _)| entity.id()));
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

/// A text with the ends of lines that OpenPGP hashes.
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
