//! Certificates as Go's `crypto/x509` makes them.

use super::{
    der::{self, context, context_constructed},
    oids,
    private_keys::PrivateKey,
    x509_parse::{Certificate, is_ia5, wrong},
};
use crate::{
    gostd::{Duration, Time, Zone, quote_bytes},
    template::{Failure, Host, Text},
};
use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// What a certificate is to say.
#[derive(Debug)]
pub(super) struct Wish {
    /// The common name of the subject.
    pub name: Text,
    pub addresses: Vec<IpAddr>,
    pub hosts: Vec<Text>,
    /// From now on.
    pub days: i64,
    pub is_authority: bool,
}

/// Who signs a certificate.
pub(super) enum Signer<'a> {
    /// The key that it certifies.
    Itself,
    Authority(&'a Certificate, &'a PrivateKey),
}

/// Bytes of the identifier of a key.
const KEY_ID: usize = 20;
const SERIAL: usize = 16;

/// Go's `x509.CreateCertificate`, in DER.
pub(super) fn create(
    host: &mut Host<'_>,
    wish: &Wish,
    key: &PrivateKey,
    signer: &Signer<'_>,
) -> Result<Vec<u8>, Failure> {
    let signing_key = match signer {
        Signer::Itself => key,
        Signer::Authority(_, key) => key,
    };
    let Some(algorithm) = signing_key.signature_algorithm() else {
        return Err(wrong("certificate private key does not implement crypto.Signer"));
    };
    let public = key.public();
    let (key_algorithm, key_bytes) = public.encoded()?;
    let subject = subject(&wish.name)?;
    let mut authority_key_id = [].as_slice();
    let issuer = match signer {
        Signer::Itself => subject.as_slice(),
        Signer::Authority(certificate, signing_key) => {
            if certificate.subject != subject {
                authority_key_id = &certificate.key_id;
            }
            if certificate
                .public
                .as_ref()
                .is_some_and(|public| *public != signing_key.public())
            {
                return Err(wrong("provided PrivateKey doesn't match parent's PublicKey"));
            }
            &certificate.subject
        }
    };
    let hash = Sha256::digest(key_bytes);
    let key_id = hash.get(..KEY_ID).filter(|_| wish.is_authority).unwrap_or_default();
    let extensions = extensions(wish, key_id, authority_key_id)?;
    let mut serial = [0; SERIAL];
    host.world().random(&mut serial);
    let inner = der::sequence(&[
        der::element(context_constructed(0), &der::unsigned(&[2])),
        der::unsigned(&serial),
        algorithm.clone(),
        issuer.to_vec(),
        validity(host, wish.days),
        subject.clone(),
        der::sequence(&[key_algorithm, der::bit_string(key_bytes)]),
        der::element(context_constructed(3), &der::sequence(&extensions)),
    ]);
    let signature = signing_key.sign(host, &inner)?;
    Ok(der::sequence(&[inner, algorithm, der::bit_string(&signature)]))
}

/// A distinguished name of nothing but a common name; an empty one is left out.
fn subject(name: &[u8]) -> Result<Vec<u8>, Failure> {
    if name.is_empty() {
        return Ok(der::sequence::<&[u8]>(&[]));
    }
    let is_printable = |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+,-./ :=?".contains(byte);
    let tag = if name.iter().all(is_printable) {
        der::PRINTABLE_STRING
    } else if std::str::from_utf8(name).is_ok() {
        der::UTF8_STRING
    } else {
        return Err(Failure::new("asn1: string not valid UTF-8"));
    };
    let attribute = der::sequence(&[der::element(der::OID, oids::COMMON_NAME), der::element(tag, name)]);
    Ok(der::sequence(&[der::element(der::SET, &attribute)]))
}

fn extensions(wish: &Wish, key_id: &[u8], authority_key_id: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
    const CRITICAL: bool = true;
    // Signatures and key encipherment; authorities sign certificates, too.
    let usage: &[u8] = if wish.is_authority {
        &[2, 0b1010_0100]
    } else {
        &[5, 0b1010_0000]
    };
    let authority: &[u8] = if wish.is_authority {
        &[der::BOOLEAN, 1, 0xff]
    } else {
        &[]
    };
    let usages = der::sequence(&[oids::SERVER_AUTH, oids::CLIENT_AUTH].map(|oid| der::element(der::OID, oid)));
    let mut out = vec![
        extension(oids::KEY_USAGE, CRITICAL, &der::element(der::BIT_STRING, usage)),
        extension(oids::EXTENDED_KEY_USAGE, !CRITICAL, &usages),
        extension(oids::BASIC_CONSTRAINTS, CRITICAL, &der::sequence(&[authority])),
    ];
    if !key_id.is_empty() {
        let id = der::element(der::OCTET_STRING, key_id);
        out.push(extension(oids::SUBJECT_KEY_ID, !CRITICAL, &id));
    }
    if !authority_key_id.is_empty() {
        let id = der::sequence(&[der::element(context(0), authority_key_id)]);
        out.push(extension(oids::AUTHORITY_KEY_ID, !CRITICAL, &id));
    }
    if !wish.hosts.is_empty() || !wish.addresses.is_empty() {
        // Without a subject the names are all that there is.
        let critical = wish.name.is_empty();
        out.push(extension(oids::SUBJECT_ALT_NAME, critical, &alternative_names(wish)?));
    }
    Ok(out)
}

fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if critical { &[der::BOOLEAN, 1, 0xff] } else { &[] };
    der::sequence(&[
        &der::element(der::OID, oid),
        critical,
        &der::element(der::OCTET_STRING, value),
    ])
}

fn alternative_names(wish: &Wish) -> Result<Vec<u8>, Failure> {
    let mut names = Vec::with_capacity(wish.hosts.len() + wish.addresses.len());
    for host in &wish.hosts {
        if !is_ia5(host) {
            let quoted = quote_bytes(host);
            return Err(wrong(&format!("{quoted} cannot be encoded as an IA5String")));
        }
        names.push(der::element(context(2), host));
    }
    for address in &wish.addresses {
        names.push(match address.to_canonical() {
            IpAddr::V4(address) => der::element(context(7), &address.octets()),
            IpAddr::V6(address) => der::element(context(7), &address.octets()),
        });
    }
    Ok(der::sequence(&names))
}

/// From now on, for so many days; their number overflows as Go's does.
fn validity(host: &Host<'_>, days: i64) -> Vec<u8> {
    const NANOSECONDS_A_DAY: i64 = 86_400 * 1_000_000_000;
    let (seconds, nanoseconds) = host.world().now();
    let now = Time::unix(seconds, nanoseconds);
    let until = now.add(Duration(days.wrapping_mul(NANOSECONDS_A_DAY)));
    der::sequence(&[time(now), time(until)])
}

/// A point in time, as short as X.509 has it.
fn time(time: Time) -> Vec<u8> {
    let time = time.in_zone(Zone::Utc);
    if (1950..2050).contains(&time.calendar().year) {
        der::element(der::UTC_TIME, &time.format(b"060102150405Z"))
    } else {
        der::element(der::GENERALIZED_TIME, &time.format(b"20060102150405Z"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn times_are_as_short_as_x509_has_them() {
        for (seconds, tag, text) in [
            (0, der::UTC_TIME, "700101000000Z"),
            (1_709_208_000, der::UTC_TIME, "240229120000Z"),
            (2_524_607_999, der::UTC_TIME, "491231235959Z"),
            (2_524_608_000, der::GENERALIZED_TIME, "20500101000000Z"),
            (-631_152_001, der::GENERALIZED_TIME, "19491231235959Z"),
        ] {
            assert_eq!(
                super::time(Time::unix(seconds, 0)),
                der::element(tag, text.as_bytes()),
                "{seconds}"
            );
        }
    }
}
