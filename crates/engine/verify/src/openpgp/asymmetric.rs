//! Verification of an OpenPGP signature over a digest. sequoia parses packets and hashes; its backend supports neither
//! RSA beyond 4096 bits nor Brainpool's curves, which gpg makes and Flux verifies.

use sequoia_openpgp as pgp;

use pgp::crypto::mpi;
use pgp::packet::key::{KeyParts, KeyRole};
use pgp::packet::{Key, Signature};
use pgp::types::{Curve, HashAlgorithm};

use crate::digest::Hash;
use crate::dsa::Dsa;
use crate::ecdsa;
use crate::rsa;

/// The hashes that go-crypto accepts in signatures of version 4.
pub(super) const fn hash(algorithm: HashAlgorithm) -> Option<Hash> {
    match algorithm {
        HashAlgorithm::SHA1 => Some(Hash::Sha1),
        HashAlgorithm::SHA224 => Some(Hash::Sha224),
        HashAlgorithm::SHA256 => Some(Hash::Sha256),
        HashAlgorithm::SHA384 => Some(Hash::Sha384),
        HashAlgorithm::SHA512 => Some(Hash::Sha512),
        HashAlgorithm::SHA3_256 => Some(Hash::Sha3_256),
        HashAlgorithm::SHA3_512 => Some(Hash::Sha3_512),
        _ => None,
    }
}

/// SEC 2's secp256k1 as an object identifier.
const SECP256K1: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x0a];

fn known(curve: &Curve) -> Option<ecdsa::Curve> {
    Some(match curve {
        Curve::NistP256 => ecdsa::Curve::P256,
        Curve::NistP384 => ecdsa::Curve::P384,
        Curve::NistP521 => ecdsa::Curve::P521,
        Curve::BrainpoolP256 => ecdsa::Curve::BrainpoolP256,
        Curve::BrainpoolP384 => ecdsa::Curve::BrainpoolP384,
        Curve::BrainpoolP512 => ecdsa::Curve::BrainpoolP512,
        other if other.oid() == SECP256K1 => ecdsa::Curve::Secp256k1,
        _ => return None,
    })
}

/// Whether the key's algorithm makes signatures, and its curve is supported.
pub(super) fn can_sign<P: KeyParts, R: KeyRole>(key: &Key<P, R>) -> bool {
    match key.mpis() {
        mpi::PublicKey::RSA { .. } => key.pk_algo().for_signing(),
        mpi::PublicKey::DSA { .. } | mpi::PublicKey::Ed25519 { .. } => true,
        mpi::PublicKey::EdDSA { curve, .. } => *curve == Curve::Ed25519,
        mpi::PublicKey::ECDSA { curve, q } => known(curve).is_some_and(|curve| ecdsa::is_point(curve, q.value())),
        _ => false,
    }
}

/// Whether the key made a signature over a digest.
pub(super) fn verify<P: KeyParts, R: KeyRole>(key: &Key<P, R>, signature: &Signature, digest: &[u8]) -> bool {
    let Some(hash) = hash(signature.hash_algo()) else {
        return false;
    };
    if key.pk_algo() != signature.pk_algo() {
        return false;
    }
    match (key.mpis(), signature.mpis()) {
        (mpi::PublicKey::RSA { e, n }, mpi::Signature::RSA { s }) => {
            rsa::verify(n.value(), e.value(), hash, digest, s.value())
        }
        (mpi::PublicKey::DSA { p, q, g, y }, mpi::Signature::DSA { r, s }) => {
            let [p, q, g, y] = [p, q, g, y].map(mpi::MPI::value);
            Dsa { p, q, g, y }.verify(digest, r.value(), s.value())
        }
        (mpi::PublicKey::ECDSA { curve, q }, mpi::Signature::ECDSA { r, s }) => {
            known(curve).is_some_and(|curve| ecdsa::verify(curve, q.value(), digest, r.value(), s.value()))
        }
        (mpi::PublicKey::EdDSA { curve, q }, mpi::Signature::EdDSA { r, s }) => {
            // A point in OpenPGP's native form.
            let point = q.value().strip_prefix(&[0x40]).filter(|_| *curve == Curve::Ed25519);
            point.is_some_and(|point| ecdsa::ed25519_numbers(point, digest, r.value(), s.value()))
        }
        (mpi::PublicKey::Ed25519 { a }, mpi::Signature::Ed25519 { s }) => ecdsa::ed25519(a, digest, s.as_slice()),
        _ => false,
    }
}

/// The cost of a verification with the key; RSA of 2048 bits or a curve costs 1, at most about a millisecond.
pub(super) fn cost<P: KeyParts, R: KeyRole>(key: &Key<P, R>) -> usize {
    match key.mpis() {
        mpi::PublicKey::RSA { n, .. } => (n.bits() / 2048).pow(2).max(1),
        // The crate uses exponents as long as the prime: 28 ms with 3072 bits.
        mpi::PublicKey::DSA { p, .. } => (p.bits() / 1024).pow(3).max(2),
        _ => 1,
    }
}

/// go-crypto's message for an invalid signature.
pub(super) fn refusal<P: KeyParts, R: KeyRole>(key: &Key<P, R>) -> String {
    let algorithm = match key.mpis() {
        mpi::PublicKey::RSA { .. } => "RSA",
        mpi::PublicKey::DSA { .. } => "DSA",
        mpi::PublicKey::ECDSA { .. } => "ECDSA",
        mpi::PublicKey::EdDSA { .. } => "EdDSA",
        _ => "Ed25519",
    };
    format!("openpgp: invalid signature: {algorithm} verification failure")
}
