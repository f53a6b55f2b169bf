//! DSA signatures (FIPS 186-4, 4.7), for keys of the sizes that Go's `crypto/dsa` accepts, within bounds.

use dsa::signature::hazmat::PrehashVerifier as _;
use dsa::{BoxedUint, Components, Signature, VerifyingKey};

use crate::numbers::plain;

/// The largest prime (FIPS 186-4 ends at 3072).
const MAX_BITS: u32 = 4096;

/// The numbers of a DSA key.
pub(crate) struct Dsa<'a> {
    pub(crate) p: &'a [u8],
    pub(crate) q: &'a [u8],
    pub(crate) g: &'a [u8],
    pub(crate) y: &'a [u8],
}

impl Dsa<'_> {
    /// Whether this key made a signature over a digest.
    pub(crate) fn verify(&self, digest: &[u8], r: &[u8], s: &[u8]) -> bool {
        let verified = || {
            let key = self.key()?;
            let q = key.components().q().bits_precision();
            let signature = Signature::from_components(number(r, q)?, number(s, q)?)?;
            key.verify_prehash(digest, &signature).ok()
        };
        verified().is_some()
    }

    /// Builds the crate's key. The crate relies on the sizes of `p` and `q` for all numbers.
    fn key(&self) -> Option<VerifyingKey> {
        let [p, q] = [self.p, self.q].map(|number| BoxedUint::from_be_slice_vartime(plain(number)));
        let (p_bits, q_bits) = (p.bits_vartime(), q.bits_vartime());
        if p_bits > MAX_BITS || q_bits > 512 || q_bits % 8 != 0 || q_bits * 2 > p_bits {
            return None;
        }
        let (g, y) = (number(self.g, p.bits_precision())?, number(self.y, p.bits_precision())?);
        if y >= p {
            return None;
        }
        let components = Components::from_components_unchecked(p, q, g).ok()?;
        VerifyingKey::from_components(components, y).ok()
    }
}

/// A number of `bits` bits.
fn number(bytes: &[u8], bits: u32) -> Option<BoxedUint> {
    BoxedUint::from_be_slice(plain(bytes), bits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_none_are_not_computed_with() {
        let p = [&[0x80][..], &[0; 126], &[1]].concat();
        let q = [&[0x80][..], &[0; 18], &[1]].concat();
        let (one, even) = ([&[0x80][..], &[0; 19]].concat(), [&[0x80][..], &[0; 127]].concat());
        let long = vec![0xff; 1024];
        for (p, q, g, y) in [
            (&[][..], &[][..], &[][..], &[][..]),
            (&p, &q, &[], &[2]),
            (&p, &q, &[2], &[]),
            (&p, &q, &p, &[2]),
            (&p, &q, &[2], &p),
            (&p, &q, &long, &[2]),
            (&p, &q, &[2], &long),
            (&long, &q, &[2], &[2]),
            (&q, &p, &[2], &[2]),
            (&p, &p, &[2], &[2]),
            (&p, &[], &[2], &[1]),
            (&p, &one, &[2], &[1]),
            (&even, &q, &[2], &[2]),
            (&q, &q, &[2], &[2]),
        ] {
            for (r, s) in [
                (&[1][..], &[1][..]),
                (&[], &[1]),
                (&[1], &[]),
                (q, &[1]),
                (&long, &long),
            ] {
                assert!(!Dsa { p, q, g, y }.verify(&[1; 32], r, s));
                assert!(!Dsa { p, q, g, y }.verify(&[], r, s));
            }
        }
    }
}
