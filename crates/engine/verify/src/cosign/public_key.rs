//! Public keys of cosign: PEM blocks as sigstore v1.10.8 reads them (`cryptoutils.UnmarshalPEMToPublicKey`,
//! `signature.LoadVerifier` with SHA-256 for all keys).

use bumpwright_gostd::decode_pem;

use super::der::Der;
use crate::digest::Hash;
use crate::ecdsa::{self, Curve};
use crate::rsa;
use thiserror::Error;

/// A key that verifies signatures over messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PublicKey {
    Ecdsa {
        curve: Curve,
        point: Vec<u8>,
    },
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    Ed25519 {
        key: Vec<u8>,
    },
    /// An unsupported curve, which verifies no signature.
    OtherCurve,
}

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// Algorithms that Go parses but cosign does not support: DSA, X25519.
const OTHERS: [&[u8]; 2] = [&[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01], &[0x2b, 0x65, 0x6e]];
const P224: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x21];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];

/// Why a text is not a public key, in the words of Go and sigstore.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PublicKeyError {
    /// It is not PEM.
    #[error("PEM decoding failed")]
    NoPem,
    /// It is PEM of another type.
    #[error("unknown Public key PEM file type: {0}. Are you passing the correct public key?")]
    PemType(String),
    /// It is not a key in DER. Go's message has more details, from its parser.
    #[error("x509: malformed public key")]
    Malformed,
    /// Something comes after the key.
    #[error("x509: trailing data after ASN.1 of public-key")]
    Trailing,
    /// It is a key of the older form, under the name of the newer one.
    #[error("x509: failed to parse public key (use ParsePKCS1PublicKey instead for this key format)")]
    IsPkcs1,
    /// It is a key of the newer form, under the name of the older one.
    #[error("x509: failed to parse public key (use ParsePKIXPublicKey instead for this key format)")]
    IsPkix,
    /// A key of Ed25519 has another size.
    #[error("x509: wrong Ed25519 public key size")]
    Ed25519Size,
    /// The curve does not exist.
    #[error("x509: unsupported elliptic curve")]
    Curve,
    /// The point is not on the curve; its name.
    #[error("{0} point not on curve")]
    Point(&'static str),
    /// cosign does not verify with such keys.
    #[error("unsupported public key type")]
    Unsupported,
    /// Go does not know such keys.
    #[error("x509: unknown public key algorithm")]
    Algorithm,
}

impl PublicKey {
    /// Parses the first PEM block of a text.
    pub(crate) fn read(text: &[u8]) -> Result<Self, PublicKeyError> {
        let block = decode_pem(text).ok_or(PublicKeyError::NoPem)?;
        match &*block.kind {
            "PUBLIC KEY" => pkix(&block.bytes),
            "RSA PUBLIC KEY" => pkcs1(&block.bytes),
            other => Err(PublicKeyError::PemType(other.to_owned())),
        }
    }

    /// Parses a `SubjectPublicKeyInfo`, or the older form of RSA keys.
    pub(crate) fn from_der(der: &[u8]) -> Option<Self> {
        pkix(der).or_else(|_| pkcs1(der)).ok()
    }

    /// Whether this key made a signature over a message.
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        self.verify_hashed(Hash::Sha256, message, signature)
    }

    /// The hash function of sigstore for this key, unless another one is
    /// named (sigstore v1.10.8, `algorithm_registry.go`).
    pub(crate) const fn hash(&self) -> Hash {
        match self {
            Self::Ecdsa { curve: Curve::P384, .. } => Hash::Sha384,
            Self::Ecdsa { curve: Curve::P521, .. } => Hash::Sha512,
            _ => Hash::Sha256,
        }
    }

    /// As [`PublicKey::verify`], with another hash function; Ed25519 has its own.
    pub(crate) fn verify_hashed(&self, hash: Hash, message: &[u8], signature: &[u8]) -> bool {
        let digest = hash.digest(message);
        match self {
            Self::Ecdsa { curve, point } => {
                numbers(signature).is_some_and(|(r, s)| ecdsa::verify(*curve, point, &digest, r, s))
            }
            Self::Rsa { n, e } => signature.len() == n.len() && rsa::verify(n, e, hash, &digest, signature),
            Self::Ed25519 { key } => ecdsa::ed25519(key, message, signature),
            Self::OtherCurve => false,
        }
    }
}

/// r and s of an ECDSA signature.
fn numbers(signature: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut outer = Der(signature);
    let mut inner = outer.sequence().filter(|_| outer.is_empty())?;
    let pair = inner.number().zip(inner.number())?;
    inner.is_empty().then_some(pair)
}

fn rsa(mut numbers: Der<'_>) -> Option<PublicKey> {
    let (n, e) = numbers.number().zip(numbers.number())?;
    let (n, e) = (n.to_vec(), e.to_vec());
    numbers.is_empty().then_some(PublicKey::Rsa { n, e })
}

fn pkcs1(der: &[u8]) -> Result<PublicKey, PublicKeyError> {
    let mut outer = Der(der);
    let key = outer.sequence().and_then(rsa);
    match key {
        Some(key) if outer.is_empty() => Ok(key),
        Some(_) => Err(PublicKeyError::Trailing),
        None if pkix(der).is_ok() => Err(PublicKeyError::IsPkix),
        None => Err(PublicKeyError::Malformed),
    }
}

fn pkix(der: &[u8]) -> Result<PublicKey, PublicKeyError> {
    let mut outer = Der(der);
    let mut parts = || {
        let mut key = outer.sequence()?;
        let mut algorithm = key.sequence()?;
        let identifier = algorithm.object()?;
        let curve = if identifier == EC {
            Some(algorithm.object()?)
        } else {
            None
        };
        let content = key.bits().filter(|_| key.is_empty())?;
        Some((identifier, curve, content, outer.is_empty()))
    };
    let Some((identifier, curve, content, is_all)) = parts() else {
        let other = Der(der).sequence().and_then(rsa);
        return Err(match other {
            Some(_) => PublicKeyError::IsPkcs1,
            None => PublicKeyError::Malformed,
        });
    };
    if !is_all {
        return Err(PublicKeyError::Trailing);
    }
    match (identifier, curve) {
        (RSA, _) => Der(content).sequence().and_then(rsa).ok_or(PublicKeyError::Malformed),
        (ED25519, _) if content.len() == 32 => Ok(PublicKey::Ed25519 { key: content.to_vec() }),
        (ED25519, _) => Err(PublicKeyError::Ed25519Size),
        (EC, Some(P256)) => point(Curve::P256, "P256", content),
        (EC, Some(P384)) => point(Curve::P384, "P384", content),
        (EC, Some(P521)) => point(Curve::P521, "P521", content),
        (EC, Some(P224)) => Ok(PublicKey::OtherCurve),
        (EC, _) => Err(PublicKeyError::Curve),
        (other, _) if OTHERS.contains(&other) => Err(PublicKeyError::Unsupported),
        _ => Err(PublicKeyError::Algorithm),
    }
}

fn point(curve: Curve, name: &'static str, point: &[u8]) -> Result<PublicKey, PublicKeyError> {
    if !ecdsa::is_point(curve, point) {
        return Err(PublicKeyError::Point(name));
    }
    let point = point.to_vec();
    Ok(PublicKey::Ecdsa { curve, point })
}
