//! Keys on NIST's curves.

use super::{der, oids};
use crate::template::{Failure, World};
use p256::ecdsa::signature::Signer;
use zeroize::Zeroizing;

/// A curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
    P521,
}

/// A private key.
pub(super) enum EcKey {
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
    P521(p521::ecdsa::SigningKey),
}

/// Does the same with the key of whichever curve.
macro_rules! each {
    ($key:expr, $inner:ident => $result:expr) => {
        match $key {
            EcKey::P256($inner) => $result,
            EcKey::P384($inner) => $result,
            EcKey::P521($inner) => $result,
        }
    };
}

impl Curve {
    /// The curve of that identifier.
    pub fn of_oid(oid: &[u8]) -> Option<Self> {
        [Self::P256, Self::P384, Self::P521]
            .into_iter()
            .find(|curve| curve.oid() == oid)
    }

    /// Its identifier.
    pub fn oid(self) -> &'static [u8] {
        match self {
            Self::P256 => oids::P256,
            Self::P384 => oids::P384,
            Self::P521 => oids::P521,
        }
    }

    /// The algorithm that Go signs with on this curve.
    pub fn signature_oid(self) -> &'static [u8] {
        match self {
            Self::P256 => oids::ECDSA_WITH_SHA256,
            Self::P384 => oids::ECDSA_WITH_SHA384,
            Self::P521 => oids::ECDSA_WITH_SHA512,
        }
    }

    /// As Go calls it in errors.
    fn name(self) -> &'static str {
        match self {
            Self::P256 => "P256",
            Self::P384 => "P384",
            Self::P521 => "P521",
        }
    }

    /// Bytes of a number.
    fn size(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// How many points there are: private keys are smaller.
    fn order(self) -> Vec<u8> {
        use p256::elliptic_curve::Curve as _;
        let bytes = match self {
            Self::P256 => p256::NistP256::ORDER.to_be_bytes().to_vec(),
            Self::P384 => p384::NistP384::ORDER.to_be_bytes().to_vec(),
            Self::P521 => p521::NistP521::ORDER.to_be_bytes().to_vec(),
        };
        let start = bytes.len().saturating_sub(self.size());
        bytes.get(start..).unwrap_or_default().to_vec()
    }

    /// Whether the bytes are a point, not compressed.
    pub fn check_point(self, bytes: &[u8]) -> Result<(), Failure> {
        let name = self.name();
        if bytes.first() != Some(&4) {
            return Err(Failure::new("ecdsa: invalid uncompressed public key"));
        }
        if bytes.len() != 1 + 2 * self.size() {
            return Err(Failure::new(format!("invalid {name} point encoding")));
        }
        let point = match self {
            Self::P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes).is_ok(),
            Self::P384 => p384::ecdsa::VerifyingKey::from_sec1_bytes(bytes).is_ok(),
            Self::P521 => p521::ecdsa::VerifyingKey::from_sec1_bytes(bytes).is_ok(),
        };
        if point {
            Ok(())
        } else {
            Err(Failure::new(format!("{name} point not on curve")))
        }
    }
}

impl EcKey {
    /// A new key on P-256.
    pub fn generate(world: &dyn World) -> Result<Self, Failure> {
        // All but one in 2^32 numbers will do.
        const TRIES: usize = 16;
        let mut bytes = Zeroizing::new([0; 32]);
        for _ in 0..TRIES {
            world.random(bytes.as_mut());
            if let Ok(key) = p256::ecdsa::SigningKey::from_slice(bytes.as_ref()) {
                return Ok(Self::P256(key));
            }
        }
        Err(Failure::new("failed to generate private key: no random numbers"))
    }

    /// Go's reading: too many and too few zeros at the front do no harm.
    pub fn from_bytes(curve: Curve, bytes: &[u8]) -> Result<Self, Failure> {
        let size = curve.size();
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let cut = bytes.len().saturating_sub(size);
        if cut > zeros {
            return Err(Failure::new("x509: invalid private key length"));
        }
        let mut key = Zeroizing::new(vec![0; size.saturating_sub(bytes.len())]);
        key.extend_from_slice(bytes.get(cut..).unwrap_or_default());
        let read = match curve {
            Curve::P256 => p256::ecdsa::SigningKey::from_slice(&key).map(Self::P256),
            Curve::P384 => p384::ecdsa::SigningKey::from_slice(&key).map(Self::P384),
            Curve::P521 => p521::ecdsa::SigningKey::from_slice(&key).map(Self::P521),
        };
        read.map_err(|_| {
            Failure::new(if *key > curve.order() {
                "input overflows the modulus"
            } else {
                "ecdsa: invalid public key encoding"
            })
        })
    }

    /// Its curve.
    pub fn curve(&self) -> Curve {
        match self {
            Self::P256(_) => Curve::P256,
            Self::P384(_) => Curve::P384,
            Self::P521(_) => Curve::P521,
        }
    }

    /// The number that is secret.
    pub fn private(&self) -> Zeroizing<Vec<u8>> {
        each!(self, key => Zeroizing::new(key.to_bytes().to_vec()))
    }

    /// The point that is not, uncompressed.
    pub fn public(&self) -> Vec<u8> {
        each!(self, key => key.verifying_key().to_sec1_point(false).as_bytes().to_vec())
    }

    /// Signs with the hash that goes with the curve.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let failed = |error: p256::ecdsa::Error| Failure::new(error.to_string());
        let bytes = match self {
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature = key.try_sign(message).map_err(failed)?;
                signature.to_bytes().to_vec()
            }
            Self::P384(key) => {
                let signature: p384::ecdsa::Signature = key.try_sign(message).map_err(failed)?;
                signature.to_bytes().to_vec()
            }
            Self::P521(key) => {
                let signature: p521::ecdsa::Signature = key.try_sign(message).map_err(failed)?;
                signature.to_bytes().to_vec()
            }
        };
        let (r, s) = bytes.split_at_checked(bytes.len() / 2).unwrap_or_default();
        Ok(der::sequence(&[der::unsigned(r), der::unsigned(s)]))
    }
}
