//! RSA signatures in the padding of PKCS#1 v1.5, by the keys that Go's `crypto/rsa` takes.

use rsa::traits::PublicKeyParts as _;
use rsa::{BoxedUint, RsaPublicKey};

use crate::digest::Hash;
use crate::numbers::{plain, widened};

/// Larger keys are not worked with: gpg makes none, and this many bits take milliseconds.
const MOST_BITS: u32 = 16384;
/// Go refuses smaller ones (`crypto/rsa`, since 1.24).
const LEAST_BITS: u32 = 1024;
/// Exponents of Go are below 2³¹; the crate takes some that are longer.
const MOST_EXPONENT: u64 = (1 << 31) - 1;

/// Whether a signature over a digest is of this key. One that is shorter than the modulus has lost zeros at its start, as
/// OpenPGP and SSH let them.
pub(crate) fn verify(modulus: &[u8], exponent: &[u8], hash: Hash, digest: &[u8], signature: &[u8]) -> bool {
    let verified = || {
        let key = key(modulus, exponent)?;
        let signature = widened(signature, key.size())?;
        key.verify(hash.pkcs1(), digest, &signature).ok()
    };
    verified().is_some()
}

fn key(modulus: &[u8], exponent: &[u8]) -> Option<RsaPublicKey> {
    let [modulus, exponent] = [modulus, exponent].map(|number| BoxedUint::from_be_slice_vartime(plain(number)));
    let fits = (LEAST_BITS..=MOST_BITS).contains(&modulus.bits_vartime()) && exponent <= BoxedUint::from(MOST_EXPONENT);
    // The crate looks whether both are odd and the exponent is not 1.
    let key = || RsaPublicKey::new_with_max_size(modulus, exponent, usize::try_from(MOST_BITS).ok()?).ok();
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
        // Signatures as large as the modulus, longer, and none; a digest of another length than the hash has.
        let modulus = odd(1024);
        for signature in [&modulus[..], &[&[1][..], &modulus].concat(), &[], &[0]] {
            assert!(!verify(&modulus, &[3], Hash::Sha256, &[0; 32], signature));
        }
        assert!(!verify(&modulus, &[3], Hash::Sha256, &[0; 120], &[1]));
    }
}
