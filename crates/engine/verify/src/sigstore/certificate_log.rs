//! Signed certificate timestamps: that a log of certificates has seen the certificate (RFC 6962, 3.2 and 3.3).

use sha2::{Digest as _, Sha256};

use super::SigstoreError;
use super::trusted_root::Log;
use crate::cosign::der::{Der, OCTET_STRING, SEQUENCE};
use crate::x509::{Certificate, length_of};

/// The extension with the list: 1.3.6.1.4.1.11129.2.4.2.
const LIST: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xd6, 0x79, 0x02, 0x04, 0x02];
/// Greatest number of timestamps of a certificate.
const MAX_LISTED: usize = 16;

/// A timestamp in a certificate.
struct Listed<'a> {
    log: &'a [u8],
    time: &'a [u8],
    extensions: &'a [u8],
    signature: &'a [u8],
}

/// Checks that one of the logs has vouched for a certificate, by a timestamp in it. `issuers` are the authorities that
/// may have issued it.
pub(super) fn verify(leaf: &Certificate, issuers: &[Certificate], logs: &[Log]) -> Result<(), SigstoreError> {
    let listed = leaf
        .extension(LIST)
        .and_then(listed)
        .filter(|listed| !listed.is_empty());
    let listed = listed.ok_or(SigstoreError::NoCertificateTimestamp)?;
    let without = without_list(&leaf.signed).ok_or(SigstoreError::Certificate)?;
    let issuers = issuers.iter().filter(|issuer| issuer.subject == leaf.issuer);
    let holds = |one: &Listed<'_>, issuer: &Certificate| {
        let seconds = milliseconds(one.time).map(|time| time / 1000);
        let known = logs
            .iter()
            .filter(|log| log.id == one.log && seconds.is_some_and(|seconds| log.period.has(seconds)));
        let signed = signed_bytes(one, issuer, &without);
        known.clone().any(|log| {
            signed
                .as_ref()
                .is_some_and(|signed| log.key.verify(signed, one.signature))
        })
    };
    if issuers
        .clone()
        .any(|issuer| listed.iter().any(|one| holds(one, issuer)))
    {
        Ok(())
    } else {
        Err(SigstoreError::CertificateTimestamp)
    }
}

fn milliseconds(time: &[u8]) -> Option<i64> {
    i64::try_from(u64::from_be_bytes(time.try_into().ok()?)).ok()
}

/// The timestamps of the extension.
fn listed(value: &[u8]) -> Option<Vec<Listed<'_>>> {
    let list = Der(value).element(OCTET_STRING)?;
    let (mut rest, after) = prefixed(list)?;
    let mut timestamps = Vec::new();
    while !rest.is_empty() && after.is_empty() && timestamps.len() < MAX_LISTED {
        let (one, others) = prefixed(rest)?;
        rest = others;
        let (version, one) = one.split_first()?;
        let (log, one) = one.split_at_checked(32)?;
        let (time, one) = one.split_at_checked(8)?;
        let (extensions, one) = prefixed(one)?;
        // Only SHA-256 with ECDSA or RSA.
        let (algorithm, one) = one.split_at_checked(2)?;
        let (signature, one) = prefixed(one)?;
        if *version == 0 && matches!(algorithm, [4, 1 | 3]) && one.is_empty() {
            timestamps.push(Listed {
                log,
                time,
                extensions,
                signature,
            });
        }
    }
    Some(timestamps)
}

/// Bytes behind their length in two bytes, and the rest.
fn prefixed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(2)?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(length.try_into().ok()?)))
}

/// What the log signs: the certificate as it was before the log's answer was put into it.
fn signed_bytes(one: &Listed<'_>, issuer: &Certificate, without: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(without.len()).ok()?.to_be_bytes();
    let [0, length @ ..] = length else { return None };
    let extensions = u16::try_from(one.extensions.len()).ok()?.to_be_bytes();
    let parts: [&[u8]; 8] = [
        // The version, the kind of signature; below the kind of entry: a certificate before its time.
        &[0, 0],
        one.time,
        &[0, 1],
        &Sha256::digest(&issuer.key),
        &length,
        without,
        &extensions,
        one.extensions,
    ];
    Some(parts.concat())
}

/// The signed part of a certificate without the list.
fn without_list(signed: &[u8]) -> Option<Vec<u8>> {
    let mut rest = Der(Der(signed).element(SEQUENCE)?);
    let mut parts = Vec::new();
    while let Some(part) = rest.any() {
        if part.tag != 0xa3 {
            parts.extend_from_slice(part.whole);
            continue;
        }
        let mut extensions = Der(part.content).sequence()?;
        let mut others = Vec::new();
        while let Some(extension) = extensions.whole(SEQUENCE) {
            if Der(extension.content).object()? != LIST {
                others.extend_from_slice(extension.whole);
            }
        }
        parts.extend(element(0xa3, &element(SEQUENCE, &others)));
    }
    Some(element(SEQUENCE, &parts))
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    [&[tag], &*length_of(content.len()), content].concat()
}
