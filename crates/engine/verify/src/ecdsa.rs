//! ECDSA over the curves of NIST and Brainpool and secp256k1, and Ed25519.

use bp256::BrainpoolP256r1;
use bp384::BrainpoolP384r1;
use ecdsa::elliptic_curve::array::typenum::Unsigned as _;
use ecdsa::elliptic_curve::point::AffinePoint;
use ecdsa::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use ecdsa::elliptic_curve::{CurveArithmetic, FieldBytesSize};
use ecdsa::signature::hazmat::PrehashVerifier as _;
use ecdsa::{EcdsaCurve, Signature, VerifyingKey};
use ed25519_dalek::Verifier as _;
use k256::Secp256k1;
use p256::NistP256;
use p384::NistP384;
use p521::NistP521;

use crate::brainpool512::BrainpoolP512r1;
use crate::numbers::widened;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
    BrainpoolP256,
    BrainpoolP384,
    BrainpoolP512,
    Secp256k1,
}

/// Evaluates an expression with the type of a curve.
macro_rules! on {
    ($curve:expr, $type:ident => $what:expr) => {
        match $curve {
            Curve::P256 => {
                type $type = NistP256;
                $what
            }
            Curve::P384 => {
                type $type = NistP384;
                $what
            }
            Curve::P521 => {
                type $type = NistP521;
                $what
            }
            Curve::BrainpoolP256 => {
                type $type = BrainpoolP256r1;
                $what
            }
            Curve::BrainpoolP384 => {
                type $type = BrainpoolP384r1;
                $what
            }
            Curve::BrainpoolP512 => {
                type $type = BrainpoolP512r1;
                $what
            }
            Curve::Secp256k1 => {
                type $type = Secp256k1;
                $what
            }
        }
    };
}

/// Whether these bytes are an uncompressed point of the curve.
pub(crate) fn is_point(curve: Curve, point: &[u8]) -> bool {
    on!(curve, C => key::<C>(point).is_some())
}

/// A signature (r, s) over a digest of any length.
pub(crate) fn verify(curve: Curve, point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    on!(curve, C => verified::<C>(point, digest, r, s).is_some())
}

fn key<C>(point: &[u8]) -> Option<VerifyingKey<C>>
where
    C: EcdsaCurve + CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    // Uncompressed points only, as in Go.
    let plain = point.first() == Some(&4);
    VerifyingKey::from_sec1_bytes(point).ok().filter(|_| plain)
}

fn verified<C>(point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> Option<()>
where
    C: EcdsaCurve + CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    let length = FieldBytesSize::<C>::USIZE;
    let numbers = [widened(r, length)?, widened(s, length)?].concat();
    // k256 accepts only the lower of s and its negation, as Bitcoin does; gpg signs with either.
    let signature = Signature::<C>::from_slice(&numbers).ok()?.normalize_s();
    key::<C>(point)?.verify_prehash(digest, &signature).ok()
}

/// Verifies an Ed25519 signature of 64 bytes over a message.
pub(crate) fn ed25519(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let verified = || {
        let key = ed25519_dalek::VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
        let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
        key.verify(message, &signature).ok()
    };
    verified().is_some()
}

/// Verifies an Ed25519 signature whose halves are numbers, as in OpenPGP.
pub(crate) fn ed25519_numbers(key: &[u8], message: &[u8], r: &[u8], s: &[u8]) -> bool {
    let (Some(r), Some(s)) = (widened(r, 32), widened(s, 32)) else {
        return false;
    };
    ed25519(key, message, &[r, s].concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use ecdsa::elliptic_curve::{Field as _, NonZeroScalar, PrimeField as _, PublicKey, Scalar};
    use ecdsa::hazmat::sign_prehashed;

    use super::*;

    const CURVES: [Curve; 7] = [
        Curve::P256,
        Curve::P384,
        Curve::P521,
        Curve::BrainpoolP256,
        Curve::BrainpoolP384,
        Curve::BrainpoolP512,
        Curve::Secp256k1,
    ];

    /// A key and its two signatures over a digest, with s and its negation.
    struct Signed {
        point: Vec<u8>,
        r: Vec<u8>,
        both: [Vec<u8>; 2],
        order: Vec<u8>,
    }

    fn signed<C>(private: u64, is_opposite: bool, nonce: u64, digest: &[u8]) -> Signed
    where
        C: EcdsaCurve + CurveArithmetic,
        AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
        FieldBytesSize<C>: ModulusSize,
    {
        let number = |number: Scalar<C>| NonZeroScalar::<C>::new(number).unwrap();
        let private = Scalar::<C>::from(private);
        let private = number(if is_opposite { -private } else { private });
        let (signature, _) = sign_prehashed::<C>(&private, &number(Scalar::<C>::from(nonce)), digest).unwrap();
        let opposite = -*signature.s().as_ref();
        let bytes = |number: Scalar<C>| number.to_repr().to_vec();
        // Orders are odd: the one below ends in an even byte.
        let mut order = bytes(-Scalar::<C>::ONE);
        *order.last_mut().unwrap() += 1;
        Signed {
            point: PublicKey::<C>::from_secret_scalar(&private)
                .to_sec1_point(false)
                .as_bytes()
                .to_vec(),
            r: bytes(*signature.r().as_ref()),
            both: [bytes(*signature.s().as_ref()), bytes(opposite)],
            order,
        }
    }

    #[test]
    fn signatures_hold_whichever_half_s_is_in() {
        for curve in CURVES {
            for (private, is_opposite, nonce, length) in [
                (1, false, 7, 20),
                (2, false, 1, 28),
                (1, true, 255, 32),
                (u64::MAX, false, 9, 64),
            ] {
                let digest = vec![0xa5; length];
                let Signed { point, r, both, .. } = on!(curve, C => signed::<C>(private, is_opposite, nonce, &digest));
                assert!(is_point(curve, &point), "{curve:?}");
                for s in both {
                    let longer = [&[0, 0][..], &s].concat();
                    assert!(verify(curve, &point, &digest, &r, &s), "{curve:?} {private}");
                    assert!(
                        verify(curve, &point, &digest, crate::numbers::plain(&r), &longer),
                        "{curve:?}"
                    );
                    assert!(!verify(curve, &point, &digest, &s, &r), "{curve:?} {private}");
                    assert!(!verify(curve, &point, &[0x5a; 32], &r, &s), "{curve:?} {private}");
                }
            }
        }
    }

    #[test]
    fn numbers_out_of_range_are_no_signatures_and_no_keys() {
        for curve in CURVES {
            let Signed { point, r, both, order } = on!(curve, C => signed::<C>(5, false, 7, &[1; 32]));
            let good = &both[0];
            let long = [&[1][..], &r].concat();
            for (r, s) in [
                (&[][..], &good[..]),
                (&r, &[0]),
                (&order, good),
                (&r, &order),
                (&long, good),
            ] {
                assert!(!verify(curve, &point, &[1; 32], r, s), "{curve:?}");
            }
            let mut off = point.clone();
            *off.last_mut().unwrap() ^= 1;
            let half = point.len().div_ceil(2);
            for wrong in [
                &[][..],
                &[0],
                &point[1..],
                &point[..point.len() - 1],
                &[&[2][..], &point[1..half]].concat(),
                &[&[3][..], &point[1..half]].concat(),
                &[&point[..], &[0]].concat(),
                &off,
            ] {
                assert!(!is_point(curve, wrong), "{curve:?} {}", wrong.len());
                assert!(!verify(curve, wrong, &[1; 32], &r, good), "{curve:?} {}", wrong.len());
            }
        }
    }
}
