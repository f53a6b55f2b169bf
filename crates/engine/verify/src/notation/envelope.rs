//! A signature of Notation, whatever its envelope, and whether its certificates and its signature hold together.

use super::NotationError;
use crate::cosign::der::Der;
use crate::cosign::public_key::PublicKey;
use crate::digest::Hash;
use crate::ecdsa::{self, Curve};
use crate::rsa;
use crate::x509::{Certificate, verify_signing_chain};
use bumpwright_text::Parts;

/// Extensions: key usage, where to ask for revocation (OCSP, CRL).
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
const AUTHORITY_ACCESS: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x01];
const CERTIFICATES_OF_AUTHORITIES: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x02];
const DISTRIBUTION_POINTS: &[u8] = &[0x55, 0x1d, 0x1f];
/// `digitalSignature` and `keyCertSign` in the first byte of a key usage.
const DIGITAL_SIGNATURE: u8 = 0x80;
const CERTIFICATE_SIGNATURE: u8 = 0x04;
const CONTENT_COMMITMENT: u8 = 0x40;

#[derive(Debug)]
pub(super) struct Headers {
    /// By its name in JWS.
    pub(super) algorithm: String,
    pub(super) content_type: String,
    /// The scheme: whether an authority vouches for the time.
    pub(super) is_authority: bool,
    pub(super) signed_at: i64,
    pub(super) expiry: Option<i64>,
}

#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) headers: Headers,
    pub(super) payload: Vec<u8>,
    pub(super) signed: Vec<u8>,
    pub(super) signature: Vec<u8>,
    /// The signer's certificate, those of intermediates, the root.
    pub(super) chain: Vec<Certificate>,
    pub(super) timestamp: Option<Vec<u8>>,
}

impl Envelope {
    /// Checks the signature, and the chain apart from its times.
    pub(super) fn check_integrity(&self) -> Result<(), NotationError> {
        let Self { headers, chain, .. } = self;
        if headers.expiry.is_some_and(|expiry| expiry <= headers.signed_at) {
            return Err(NotationError::Headers);
        }
        let (leaf, others) = chain.split_first().ok_or(NotationError::Certificates)?;
        let root = others.last().unwrap_or(leaf);
        let intermediates = others.part(..others.len().saturating_sub(1));
        // A time at which all of them are valid, if there is one: when that has to be is asked later.
        let from = chain.iter().map(|certificate| certificate.validity.0).max();
        let at = from.filter(|from| chain.iter().all(|certificate| *from <= certificate.validity.1));
        let at = at.ok_or(NotationError::Certificates)?;
        let chained = verify_signing_chain(leaf, intermediates, root, at);
        if !is_ordered(chain) || root.issuer != root.subject || chained.is_err() || !usages_hold(leaf, others) {
            return Err(NotationError::Certificates);
        }
        let key = leaf.public_key().ok_or(NotationError::Certificates)?;
        if self.is_signed_by(&key) {
            Ok(())
        } else {
            Err(NotationError::Signature)
        }
    }

    fn is_signed_by(&self, key: &PublicKey) -> bool {
        let digest = |hash: Hash| hash.digest(&self.signed);
        match key {
            PublicKey::Ecdsa { curve, point } => {
                let (name, hash) = match curve {
                    Curve::P256 => ("ES256", Hash::Sha256),
                    Curve::P384 => ("ES384", Hash::Sha384),
                    Curve::P521 => ("ES512", Hash::Sha512),
                    _ => return false,
                };
                let half = (point.len() - 1) / 2;
                let halves = self.signature.split_at_checked(half).filter(|(_, s)| s.len() == half);
                let holds = |(r, s): (&[u8], &[u8])| ecdsa::verify(*curve, point, &digest(hash), r, s);
                name == self.headers.algorithm && halves.is_some_and(holds)
            }
            PublicKey::Rsa { n, e } => {
                let (name, hash) = match n.len() {
                    256 => ("PS256", Hash::Sha256),
                    384 => ("PS384", Hash::Sha384),
                    512 => ("PS512", Hash::Sha512),
                    _ => return false,
                };
                name == self.headers.algorithm && rsa::verify_pss(n, e, hash, &digest(hash), &self.signature)
            }
            _ => false,
        }
    }

    /// The first certificate that was not valid at a time.
    pub(super) fn is_valid_at(&self, time: i64) -> bool {
        let valid = |certificate: &Certificate| (certificate.validity.0..=certificate.validity.1).contains(&time);
        self.chain.iter().all(valid)
    }

    /// Whether a certificate below the root names a server that would have to be asked whether it is revoked.
    pub(super) fn is_revocable(&self) -> bool {
        let names = |certificate: &Certificate| {
            let access = certificate.extension(AUTHORITY_ACCESS);
            access.is_some_and(names_ocsp) || certificate.extension(DISTRIBUTION_POINTS).is_some()
        };
        let below_root = self.chain.len().saturating_sub(1);
        self.chain.iter().take(below_root).any(names)
    }
}

/// Whether an extension about access to authorities names an OCSP server, and not only where certificates are. What
/// cannot be read counts as if it did.
fn names_ocsp(access: &[u8]) -> bool {
    let Some(mut descriptions) = Der(access).sequence() else {
        return true;
    };
    let mut others = std::iter::from_fn(|| descriptions.sequence());
    others.any(|mut description| description.object() != Some(CERTIFICATES_OF_AUTHORITIES))
}

/// Whether each certificate names the next as its issuer.
fn is_ordered(chain: &[Certificate]) -> bool {
    let pairs = chain.iter().zip(chain.iter().skip(1));
    pairs
        .clone()
        .all(|(one, next)| one.issuer == next.subject && one.der != next.der)
}

/// Whether the signer's key is for signatures only, and those of authorities for certificates.
fn usages_hold(leaf: &Certificate, authorities: &[Certificate]) -> bool {
    let usage = |certificate: &Certificate| Some(*Der(certificate.extension(KEY_USAGE)?).element(3)?.get(1)?);
    let signs = |certificate: &Certificate| usage(certificate).is_some_and(|usage| usage & CERTIFICATE_SIGNATURE != 0);
    let only = |usage: u8| usage & DIGITAL_SIGNATURE != 0 && usage & !(DIGITAL_SIGNATURE | CONTENT_COMMITMENT) == 0;
    usage(leaf).is_some_and(only) && authorities.iter().all(signs)
}
