//! Digests of files as artifacts have them: `ALGORITHM:HEX` (`github.com/opencontainers/go-digest`).

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256, Sha384, Sha512};
use thiserror::Error;

/// How digests are made (`--artifact-digest-algo`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// SHA-256, what source-controller uses unless it is told otherwise.
    #[default]
    Sha256,
    /// SHA-384
    Sha384,
    /// SHA-512
    Sha512,
}

/// A text that is no digest, or none that can be checked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DigestError {
    /// Its algorithm is not known here.
    #[error("cannot check digests of the algorithm {0:?}; those known are sha256, sha384 and sha512")]
    Algorithm(String),
    /// It is no digest.
    #[error("{0:?} is no digest; it has to be ALGORITHM:HEX, such as sha256:2c26…, in lower case and of full length")]
    Form(String),
}

impl Algorithm {
    /// `sha256`
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    /// Of a digest, in hexadecimal digits.
    fn digits(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha384 => 96,
            Self::Sha512 => 128,
        }
    }

    pub(crate) fn hasher(self) -> Hasher {
        match self {
            Self::Sha256 => Hasher::Sha256(Sha256::new()),
            Self::Sha384 => Hasher::Sha384(Sha384::new()),
            Self::Sha512 => Hasher::Sha512(Sha512::new()),
        }
    }
}

impl FromStr for Algorithm {
    type Err = DigestError;

    fn from_str(name: &str) -> Result<Self, DigestError> {
        let known = [Self::Sha256, Self::Sha384, Self::Sha512];
        let known = known.into_iter().find(|algorithm| algorithm.name() == name);
        known.ok_or_else(|| DigestError::Algorithm(name.to_owned()))
    }
}

/// A digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

impl Digest {
    /// How it was made.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let form = || DigestError::Form(text.to_owned());
        let (algorithm, hex) = text.split_once(':').ok_or_else(form)?;
        let algorithm: Algorithm = algorithm.parse()?;
        let is_hex = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hex.len() != algorithm.digits() || !is_hex {
            return Err(form());
        }
        Ok(Self {
            algorithm,
            hex: hex.to_owned(),
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

/// A digest in the making.
#[derive(Clone, Debug)]
pub(crate) enum Hasher {
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha384(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        let (algorithm, bytes) = match self {
            Self::Sha256(hasher) => (Algorithm::Sha256, hasher.finalize().to_vec()),
            Self::Sha384(hasher) => (Algorithm::Sha384, hasher.finalize().to_vec()),
            Self::Sha512(hasher) => (Algorithm::Sha512, hasher.finalize().to_vec()),
        };
        Digest {
            algorithm,
            hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for algorithm in [Algorithm::Sha256, Algorithm::Sha384, Algorithm::Sha512] {
            let mut hasher = algorithm.hasher();
            hasher.update(b"foo");
            let digest = hasher.finish();
            assert_eq!(digest.to_string().parse(), Ok(digest.clone()));
            assert_eq!(algorithm.name().parse(), Ok(digest.algorithm()));
        }
        let mut hasher = Algorithm::default().hasher();
        hasher.update(b"foo");
        let known = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
        assert_eq!(hasher.finish().to_string(), known);
    }

    #[test]
    fn refuses_what_is_none() {
        for text in ["", "sha256", "sha256:", "sha256:2c26", "SHA256:x"] {
            assert!(text.parse::<Digest>().is_err(), "{text:?}");
        }
        assert!(format!("sha256:{}", "A".repeat(64)).parse::<Digest>().is_err());
        assert_eq!(
            "blake3:00".parse::<Digest>(),
            Err(DigestError::Algorithm("blake3".to_owned()))
        );
    }
}
