//! Hashes by name, with what PKCS#1 v1.5 puts before them (RFC 8017, 9.2, note 1).

use rsa::Pkcs1v15Sign;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};
use sha3::{Sha3_256, Sha3_512};

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Sha3_256,
    Sha3_512,
}

impl Hash {
    /// The digest of a message; None for the functions that only OpenPGP uses and computes itself.
    pub(crate) fn digest(self, message: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Sha1 => Some(Sha1::digest(message).to_vec()),
            Self::Sha256 => Some(Sha256::digest(message).to_vec()),
            Self::Sha384 => Some(Sha384::digest(message).to_vec()),
            Self::Sha512 => Some(Sha512::digest(message).to_vec()),
            Self::Sha224 | Self::Sha3_256 | Self::Sha3_512 => None,
        }
    }

    /// The padding of an RSA signature over a digest of this function.
    pub(crate) fn pkcs1(self) -> Pkcs1v15Sign {
        match self {
            Self::Sha1 => Pkcs1v15Sign::new::<Sha1>(),
            Self::Sha224 => Pkcs1v15Sign::new::<Sha224>(),
            Self::Sha256 => Pkcs1v15Sign::new::<Sha256>(),
            Self::Sha384 => Pkcs1v15Sign::new::<Sha384>(),
            Self::Sha512 => Pkcs1v15Sign::new::<Sha512>(),
            Self::Sha3_256 => Pkcs1v15Sign::new::<Sha3_256>(),
            Self::Sha3_512 => Pkcs1v15Sign::new::<Sha3_512>(),
        }
    }
}
