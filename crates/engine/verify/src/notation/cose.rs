//! Envelopes of Notation in CBOR (COSE, RFC 9052), as notation-core-go v1.3.0 reads them.

use super::NotationError;
use super::cbor::{Value, encoded};
use super::envelope::Envelope;
use super::headers::{AUTHENTIC_TIME, EXPIRY, SCHEME, TIME, Unchecked};
use super::jws::MAX_CHAIN;
use crate::x509::Certificate;

/// A message with one signature.
const SIGN_1: u64 = 18;
/// Labels of headers: algorithm, critical headers, type of the content, certificates.
const ALGORITHM: i64 = 1;
const CRITICAL: i64 = 2;
const CONTENT_TYPE: i64 = 3;
const CERTIFICATES: i64 = 33;
const TIMESTAMP: &str = "io.cncf.notary.timestampSignature";
/// Algorithms, with their names in JWS.
const ALGORITHMS: [(i64, &str); 6] = [
    (-7, "ES256"),
    (-35, "ES384"),
    (-36, "ES512"),
    (-37, "PS256"),
    (-38, "PS384"),
    (-39, "PS512"),
];
/// A time in seconds since 1970.
const EPOCH: u64 = 1;

pub(super) fn read(bytes: &[u8]) -> Result<Envelope, NotationError> {
    let message = Value::read(bytes).ok_or(NotationError::Envelope)?;
    let parts = match &message {
        Value::Tag(SIGN_1, parts) => parts.as_ref(),
        _ => return Err(NotationError::Envelope),
    };
    let Value::Array(parts) = parts else {
        return Err(NotationError::Envelope);
    };
    let [protected, unprotected, payload, signature] = parts.as_slice() else {
        return Err(NotationError::Envelope);
    };
    let bytes = |value: &Value<'_>| value.bytes().map(<[u8]>::to_vec).ok_or(NotationError::Envelope);
    let (protected, payload) = (bytes(protected)?, bytes(payload)?);
    let headers = Value::read(&protected).ok_or(NotationError::Headers)?;
    let timestamp = unprotected.get(&Value::Text(TIMESTAMP)).map(bytes).transpose()?;
    Ok(Envelope {
        headers: unchecked(&headers).ok_or(NotationError::Headers)?.check()?,
        signed: signed(&protected, &payload),
        signature: bytes(signature)?,
        chain: chain(unprotected).ok_or(NotationError::Certificates)?,
        timestamp,
        payload,
    })
}

fn unchecked<'a>(headers: &Value<'a>) -> Option<Unchecked<'a>> {
    let number = |label: i64| headers.get(&Value::Number(label));
    let named = |name: &'static str| headers.get(&Value::Text(name));
    let time = |name: &'static str| match named(name) {
        None => Some(None),
        Some(Value::Tag(EPOCH, seconds)) => match **seconds {
            Value::Number(seconds) => Some(Some(seconds)),
            _ => None,
        },
        Some(_) => None,
    };
    let algorithm = match number(ALGORITHM)? {
        Value::Number(number) => ALGORITHMS.iter().find(|(known, _)| known == number)?.1,
        _ => return None,
    };
    let critical = match number(CRITICAL)? {
        Value::Array(critical) => critical.iter().map(Value::text).collect::<Option<Vec<_>>>()?,
        _ => return None,
    };
    Some(Unchecked {
        algorithm,
        content_type: number(CONTENT_TYPE)?.text()?,
        critical,
        scheme: named(SCHEME).and_then(Value::text),
        time: time(TIME)?,
        authentic_time: time(AUTHENTIC_TIME)?,
        expiry: time(EXPIRY)?,
    })
}

fn chain(unprotected: &Value<'_>) -> Option<Vec<Certificate>> {
    match unprotected.get(&Value::Number(CERTIFICATES))? {
        Value::Bytes(one) => Some(vec![Certificate::read(one)?]),
        Value::Array(all) if (1..=MAX_CHAIN).contains(&all.len()) => {
            all.iter().map(|one| Certificate::read(one.bytes()?)).collect()
        }
        _ => None,
    }
}

/// What is signed: the structure `Signature1`, without external data.
fn signed(protected: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut signed = vec![0x84, 0x6a];
    signed.extend_from_slice(b"Signature1");
    signed.extend(encoded(protected));
    signed.extend(encoded(&[]));
    signed.extend(encoded(payload));
    signed
}
