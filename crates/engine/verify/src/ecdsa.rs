//! ECDSA over the curves of NIST, Brainpool's and secp256k1, and Ed25519: keys and signatures as numbers in bytes.

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

/// A curve.
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

/// What is asked about a curve that is known when the program runs alone.
macro_rules! on {
    ($curve:expr, $function:ident($($argument:expr),*)) => {
        match $curve {
            Curve::P256 => $function::<NistP256>($($argument),*).is_some(),
            Curve::P384 => $function::<NistP384>($($argument),*).is_some(),
            Curve::P521 => $function::<NistP521>($($argument),*).is_some(),
            Curve::BrainpoolP256 => $function::<BrainpoolP256r1>($($argument),*).is_some(),
            Curve::BrainpoolP384 => $function::<BrainpoolP384r1>($($argument),*).is_some(),
            Curve::BrainpoolP512 => $function::<BrainpoolP512r1>($($argument),*).is_some(),
            Curve::Secp256k1 => $function::<Secp256k1>($($argument),*).is_some(),
        }
    };
}

/// Whether these bytes are an uncompressed point of the curve.
pub(crate) fn is_point(curve: Curve, point: &[u8]) -> bool {
    on!(curve, key(point))
}

/// A signature (r, s) over a digest of any length.
pub(crate) fn verify(curve: Curve, point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    on!(curve, verified(point, digest, r, s))
}

fn key<C>(point: &[u8]) -> Option<VerifyingKey<C>>
where
    C: EcdsaCurve + CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    // Uncompressed points alone, as in Go.
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
    // k256 takes the lower one of s and its opposite alone, as Bitcoin does; gpg signs with either.
    let signature = Signature::<C>::from_slice(&numbers).ok()?.normalize_s();
    key::<C>(point)?.verify_prehash(digest, &signature).ok()
}

/// An Ed25519 signature of 64 bytes over a message.
pub(crate) fn ed25519(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let verified = || {
        let key = ed25519_dalek::VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
        let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
        key.verify(message, &signature).ok()
    };
    verified().is_some()
}

/// An Ed25519 signature whose halves are numbers, as OpenPGP has it.
pub(crate) fn ed25519_numbers(key: &[u8], message: &[u8], r: &[u8], s: &[u8]) -> bool {
    let (Some(r), Some(s)) = (widened(r, 32), widened(s, 32)) else {
        return false;
    };
    ed25519(key, message, &[r, s].concat())
}
