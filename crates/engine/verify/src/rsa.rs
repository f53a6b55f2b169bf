//! RSA signatures with PKCS#1 v1.5 padding and PSS, for the keys that Go's `crypto/rsa` accepts.

use rsa::traits::PublicKeyParts as _;
use rsa::{BoxedUint, Pss, RsaPublicKey};
use sha2::{Sha256, Sha384, Sha512};

use crate::digest::Hash;
use crate::numbers::{plain, widened};

/// Greatest size of a key: gpg makes no larger ones, and this many bits take milliseconds.
const MAX_BITS: u32 = 16384;
/// Least size of a key in Go (`crypto/rsa`, since 1.24).
const MIN_BITS: u32 = 1024;
/// Go's exponents are below 2³¹; the crate accepts longer ones.
const MAX_EXPONENT: u64 = (1 << 31) - 1;

/// Whether this key made a signature over a digest. A signature shorter than the modulus is without leading zeros, as
/// OpenPGP and SSH permit.
pub(crate) fn verify(modulus: &[u8], exponent: &[u8], hash: Hash, digest: &[u8], signature: &[u8]) -> bool {
    let verified = || {
        let key = key(modulus, exponent)?;
        let signature = widened(signature, key.size())?;
        key.verify(hash.pkcs1(), digest, &signature).ok()
    };
    verified().is_some()
}

/// As [`verify`], with the padding of PSS and a salt as long as the digest (RFC 7518, 3.5).
pub(crate) fn verify_pss(modulus: &[u8], exponent: &[u8], hash: Hash, digest: &[u8], signature: &[u8]) -> bool {
    let verified = || {
        let key = key(modulus, exponent)?;
        let verified = match hash {
            Hash::Sha256 => key.verify(Pss::<Sha256>::new(), digest, signature),
            Hash::Sha384 => key.verify(Pss::<Sha384>::new(), digest, signature),
            Hash::Sha512 => key.verify(Pss::<Sha512>::new(), digest, signature),
            _ => return None,
        };
        verified.ok()
    };
    verified().is_some()
}

fn key(modulus: &[u8], exponent: &[u8]) -> Option<RsaPublicKey> {
    let [modulus, exponent] = [modulus, exponent].map(|number| BoxedUint::from_be_slice_vartime(plain(number)));
    let fits = (MIN_BITS..=MAX_BITS).contains(&modulus.bits_vartime()) && exponent <= BoxedUint::from(MAX_EXPONENT);
    // The crate checks that both are odd and the exponent is not 1.
    let key = || RsaPublicKey::new_with_max_size(modulus, exponent, usize::try_from(MAX_BITS).ok()?).ok();
    fits.then(key).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_none_are_not_computed_with() {
        let odd = |bits: usize| [&[0x80][..], &vec![0; bits / 8 - 2], &[1]].concat();
        for (modulus, exponent) in [
            (odd(1024), &[3][..]),
            (odd(16384), &[1, 0, 1]),
            (odd(2048), &[0x7f, 0xff, 0xff, 0xff]),
        ] {
            assert!(key(&modulus, exponent).is_some(), "{} {exponent:?}", modulus.len());
        }
        for (modulus, exponent) in [
            (odd(1016), &[3][..]),
            (odd(16392), &[3]),
            (vec![0xfe; 256], &[3]),
            (odd(2048), &[]),
            (odd(2048), &[1]),
            (odd(2048), &[4]),
            (odd(2048), &[0x80, 0, 0, 1]),
            (Vec::new(), &[3]),
        ] {
            assert!(key(&modulus, exponent).is_none(), "{} {exponent:?}", modulus.len());
            assert!(!verify(&modulus, exponent, Hash::Sha256, &[0; 32], &[1]));
        }
        // Signatures as large as the modulus, longer ones, an empty one; a digest of a length other than the hash's.
        let modulus = odd(1024);
        for signature in [&modulus[..], &[&[1][..], &modulus].concat(), &[], &[0]] {
            assert!(!verify(&modulus, &[3], Hash::Sha256, &[0; 32], signature));
        }
        assert!(!verify(&modulus, &[3], Hash::Sha256, &[0; 120], &[1]));
    }
}
