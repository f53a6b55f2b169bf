//! Why keys and signatures of SSH are not read, or do not verify: in the words of golang.org/x/crypto/ssh and
//! fluxcd/pkg.

use super::LABEL;
use thiserror::Error;

/// The error of a key, or of one signature with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It is cut off, or a part of it is.
    #[error("ssh: short read")]
    Short,
    /// Something comes after the key.
    #[error("ssh: trailing junk in public key")]
    Junk,
    /// A line of `authorized_keys` is not a key.
    #[error("unable to parse authorized key: {0}")]
    Line(#[source] Box<KeyError>),
    /// A line has no key.
    #[error("ssh: no key found")]
    NoKey,
    /// A line has no key, and the text in its place cannot be read.
    #[error("ssh: no key found; last parsing error for ignored line: {0}")]
    Ignored(#[source] Box<KeyError>),
    /// It is not Base64 from this byte on.
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    /// The algorithm does not exist.
    #[error("ssh: unknown key algorithm: {0}")]
    Algorithm(String),
    /// A key of Ed25519 has another size.
    #[error("invalid size {0} for Ed25519 public key")]
    Ed25519Size(usize),
    /// A key of RSA is too large.
    #[error("ssh: rsa modulus too large")]
    Modulus,
    /// Its exponent is too large.
    #[error("ssh: exponent too large")]
    LargeExponent,
    /// Its exponent is even, or one.
    #[error("ssh: incorrect exponent")]
    Exponent,
    /// A key of DSA has another size, in bits.
    #[error("ssh: unsupported DSA key size {0}")]
    DsaSize(usize),
    /// Its subgroup has another size, in bits.
    #[error("ssh: unsupported DSA sub-prime size {0}")]
    SubPrime(usize),
    /// Its generator is too large.
    #[error("ssh: DSA generator larger than modulus")]
    LargeGenerator,
    /// Its generator is zero.
    #[error("ssh: DSA generator must be positive")]
    NoGenerator,
    /// Its value is zero or too large.
    #[error("ssh: DSA public value Y out of range")]
    PublicValue,
    /// The curve does not exist.
    #[error("ssh: unsupported curve")]
    Curve,
    /// The curve is not that of the algorithm.
    #[error(
        "ssh: algorithm type mismatch: expected {algorithm:?}, found curve {curve:?} (type \"ecdsa-sha2-{curve}\")"
    )]
    OtherCurve {
        /// The algorithm of the key.
        algorithm: String,
        curve: String,
    },
    /// The point is not on the curve.
    #[error("ssh: invalid curve point")]
    Point,
    /// It is not the key that the signature has.
    #[error("public key does not match")]
    OtherKey,
    /// The signature was not made for Git.
    #[error("namespace does not match")]
    Namespace,
    /// The signature is of an algorithm that the key does not have.
    #[error("ssh: signature type {signature} for key type {key}")]
    SignatureType {
        /// That of the signature.
        signature: String,
        /// That of the key.
        key: String,
    },
    /// The signature of a security key was made without a touch of it.
    #[error("ssh: signature missing required user presence flag")]
    NoTouch,
    /// The signature of a key of DSA has another size.
    #[error("ssh: DSA signature parse error")]
    DsaSignature,
    /// The signature is of something else, or damaged.
    #[error("ssh: signature did not verify")]
    Refused,
    /// The same with a key of RSA.
    #[error("crypto/rsa: verification error")]
    RsaRefused,
}

impl KeyError {
    /// Whether it is one value in Go, of which only the first counts.
    pub(super) fn is_sentinel(&self) -> bool {
        matches!(self, Self::OtherKey | Self::Namespace | Self::RsaRefused)
    }
}

/// The error of a signature in its armour.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnarmourError {
    /// It is not PEM.
    #[error("invalid PEM block")]
    NoPem,
    /// It is PEM of another type.
    #[error("invalid PEM type {0:?}: expected {LABEL:?}")]
    PemType(String),
    /// It is cut off, or too long.
    #[error("ssh: parse error in message type 0")]
    Form,
    /// It has another version.
    #[error("unsupported signature version {0}: expected 1")]
    Version(u32),
    /// It begins with something else.
    #[error("invalid magic preamble {0:?}: expected \"SSHSIG\"")]
    Magic(String),
    /// The hash function does not exist.
    #[error("unsupported hash algorithm {0:?}: must be \"sha256\" or \"sha512\"")]
    Hash(String),
    /// Its key cannot be read.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// It is of a key of RSA, with a hash function that is too weak.
    #[error("invalid signature format {0:?}: expected \"rsa-sha2-256\" or \"rsa-sha2-512\"")]
    RsaFormat(String),
}
