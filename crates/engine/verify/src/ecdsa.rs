//! ECDSA over the curves of NIST, and Ed25519: keys and signatures as numbers in bytes.

use ed25519_dalek::Verifier as _;

/// A curve of NIST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NistCurve {
    P256,
    P384,
    P521,
}

/// A number as so many bytes; zeros at its start come and go. None when it has more.
fn exactly<const N: usize>(number: &[u8]) -> Option<[u8; N]> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let number = number.get(zeros..)?;
    let mut bytes = [0; N];
    let start = N.checked_sub(number.len())?;
    bytes.get_mut(start..)?.copy_from_slice(number);
    Some(bytes)
}

/// A digest as a number of the curve's size: the crates refuse digests that are much shorter than the field.
fn padded<const N: usize>(digest: &[u8]) -> Option<[u8; N]> {
    exactly(digest.get(..digest.len().min(N))?)
}

macro_rules! curve {
    ($name:ident, $from:ident, $bytes:literal) => {
        mod $name {
            use $from::ecdsa::signature::hazmat::PrehashVerifier as _;
            use $from::ecdsa::{Signature, VerifyingKey};

            pub(super) fn key(point: &[u8]) -> Option<VerifyingKey> {
                // Uncompressed points alone, as in Go.
                let plain = point.first() == Some(&4);
                VerifyingKey::from_sec1_bytes(point).ok().filter(|_| plain)
            }

            pub(super) fn verify(point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> Option<()> {
                let r = super::exactly::<$bytes>(r)?;
                let s = super::exactly::<$bytes>(s)?;
                let signature = Signature::from_scalars(r, s).ok()?;
                let digest = super::padded::<$bytes>(digest)?;
                key(point)?.verify_prehash(&digest, &signature).ok()
            }
        }
    };
}

curve!(nist_256, p256, 32);
curve!(nist_384, p384, 48);
curve!(nist_521, p521, 66);

/// Whether these bytes are an uncompressed point of the curve.
pub(crate) fn is_point(curve: NistCurve, point: &[u8]) -> bool {
    match curve {
        NistCurve::P256 => nist_256::key(point).is_some(),
        NistCurve::P384 => nist_384::key(point).is_some(),
        NistCurve::P521 => nist_521::key(point).is_some(),
    }
}

/// A signature (r, s) over a digest of any length.
pub(crate) fn verify(curve: NistCurve, point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    let verified = match curve {
        NistCurve::P256 => nist_256::verify(point, digest, r, s),
        NistCurve::P384 => nist_384::verify(point, digest, r, s),
        NistCurve::P521 => nist_521::verify(point, digest, r, s),
    };
    verified.is_some()
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
    let (Some(r), Some(s)) = (exactly::<32>(r), exactly::<32>(s)) else {
        return false;
    };
    ed25519(key, message, &[r, s].concat())
}
