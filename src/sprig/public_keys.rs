//! Public keys as certificates have them.

use super::{
    der::{self, Reader},
    ec_key::Curve,
    oids,
};
use crate::template::Failure;

/// A public key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// In PKCS #1.
    Rsa(Vec<u8>),
    /// An uncompressed point.
    Ec(Curve, Vec<u8>),
    Ed25519(Vec<u8>),
    /// Go has no name for it in certificates.
    X25519,
    /// Go reads it but does not write it.
    Dsa,
}

const ED25519_KEY: usize = 32;

impl PublicKey {
    /// The identifier of its algorithm, and its bytes; Go's error when it does not certify such keys.
    pub fn encoded(&self) -> Result<(Vec<u8>, &[u8]), Failure> {
        let oid = |oid: &[u8]| der::element(der::OID, oid);
        let unsupported = |ty: &str| Err(Failure::new(format!("x509: unsupported public key type: {ty}")));
        match self {
            Self::Rsa(bytes) => Ok((der::sequence(&[oid(oids::RSA), der::element(der::NULL, &[])]), bytes)),
            Self::Ec(curve, bytes) => Ok((der::sequence(&[oid(oids::EC), oid(curve.oid())]), bytes)),
            Self::Ed25519(bytes) => Ok((der::sequence(&[oid(oids::ED25519)]), bytes)),
            Self::X25519 => unsupported("*ecdh.PublicKey"),
            Self::Dsa => unsupported("*dsa.PublicKey"),
        }
    }

    /// Go's `x509.parsePublicKey`; of an algorithm that it does not know in certificates, nothing is read.
    ///
    /// `parameters` is an element, or nothing.
    pub fn parse(oid: &[u8], parameters: &[u8], bytes: &[u8]) -> Result<Option<Self>, Failure> {
        match oid {
            oids::RSA => parse_rsa(parameters, bytes).map(Some),
            oids::EC => {
                let Some(curve) = Reader(parameters).oid() else {
                    return Err(Failure::new("x509: invalid ECDSA parameters"));
                };
                let Some(curve) = Curve::of_oid(curve) else {
                    return Err(Failure::new("x509: unsupported elliptic curve"));
                };
                curve.check_point(bytes)?;
                Ok(Some(Self::Ec(curve, bytes.to_vec())))
            }
            oids::ED25519 => {
                if !parameters.is_empty() {
                    return Err(Failure::new("x509: Ed25519 key encoded with illegal parameters"));
                }
                if bytes.len() != ED25519_KEY {
                    return Err(Failure::new("x509: wrong Ed25519 public key size"));
                }
                Ok(Some(Self::Ed25519(bytes.to_vec())))
            }
            oids::DSA => parse_dsa(parameters, bytes).map(Some),
            _ => Ok(None),
        }
    }
}

fn parse_rsa(parameters: &[u8], bytes: &[u8]) -> Result<PublicKey, Failure> {
    let wrong = |what: &str| Failure::new(format!("x509: {what}"));
    if parameters != [der::NULL, 0] {
        return Err(wrong("RSA key missing NULL parameters"));
    }
    let mut reader = Reader(bytes)
        .inside(der::SEQUENCE)
        .ok_or_else(|| wrong("invalid RSA public key"))?;
    let modulus = reader.integer().ok_or_else(|| wrong("invalid RSA modulus"))?;
    let exponent = reader
        .int64(der::INTEGER)
        .ok_or_else(|| wrong("invalid RSA public exponent"))?;
    if !is_positive(modulus) {
        return Err(wrong("RSA modulus is not a positive number"));
    }
    if exponent <= 0 {
        return Err(wrong("RSA public exponent is not a positive number"));
    }
    let parts = [der::unsigned(modulus), der::unsigned(&exponent.to_be_bytes())];
    Ok(PublicKey::Rsa(der::sequence(&parts)))
}

fn parse_dsa(parameters: &[u8], bytes: &[u8]) -> Result<PublicKey, Failure> {
    let wrong = |what: &str| Failure::new(format!("x509: {what}"));
    let y = Reader(bytes).integer().ok_or_else(|| wrong("invalid DSA public key"))?;
    let numbers = || {
        let mut reader = Reader(parameters).inside(der::SEQUENCE)?;
        Some([y, reader.integer()?, reader.integer()?, reader.integer()?])
    };
    let numbers = numbers().ok_or_else(|| wrong("invalid DSA parameters"))?;
    if !numbers.into_iter().all(is_positive) {
        return Err(wrong("zero or negative DSA parameter"));
    }
    Ok(PublicKey::Dsa)
}

fn is_positive(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first & 0x80 == 0) && bytes.iter().any(|&byte| byte != 0)
}
