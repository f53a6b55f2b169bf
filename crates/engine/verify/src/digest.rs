//! Hash functions, with their prefixes in PKCS#1 v1.5 (RFC 8017, 9.2, note 1).

use rsa::Pkcs1v15Sign;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};
use sha3::{Sha3_256, Sha3_512};

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
    pub(crate) fn digest(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(message).to_vec(),
            Self::Sha224 => Sha224::digest(message).to_vec(),
            Self::Sha256 => Sha256::digest(message).to_vec(),
            Self::Sha384 => Sha384::digest(message).to_vec(),
            Self::Sha512 => Sha512::digest(message).to_vec(),
            Self::Sha3_256 => Sha3_256::digest(message).to_vec(),
            Self::Sha3_512 => Sha3_512::digest(message).to_vec(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The `DigestInfo` of hashes that no recorded RSA signature has, with the
    /// identifiers 2.16.840.1.101.3.4.2.8 and 10.
    #[test]
    fn padding_of_sha3_names_the_function() {
        for (hash, start) in [
            (
                Hash::Sha3_256,
                [
                    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x08, 0x05,
                    0x00, 0x04, 0x20,
                ],
            ),
            (
                Hash::Sha3_512,
                [
                    0x30, 0x51, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x0a, 0x05,
                    0x00, 0x04, 0x40,
                ],
            ),
        ] {
            assert_eq!(*hash.pkcs1().prefix, start, "{hash:?}");
        }
    }
}
