//! Digests in the form of `status.artifact.digest`, `<algorithm>:<hex>`, and their calculation.
//!
//! The algorithms are those of source-controller's `--artifact-digest-algo`; validity is
//! that of opencontainers' go-digest.

use bumpwright_gostd::quote;
use sha2::Digest as _;
use std::fmt;
use std::io;
use std::str::FromStr;
use thiserror::Error;

/// A hash function for digests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// SHA-1, as in Git. An option of `--artifact-digest-algo`; not collision-resistant.
    Sha1,
    /// SHA-256, the default.
    #[default]
    Sha256,
    Sha384,
    Sha512,
    /// BLAKE3 with 256 bits.
    Blake3,
}

impl Algorithm {
    pub const ALL: [Self; 5] = [Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512, Self::Blake3];

    /// The name before the colon.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Blake3 => "blake3",
        }
    }

    /// The number of hexadecimal digits of a digest.
    #[must_use]
    pub(crate) const fn hex_len(self) -> usize {
        match self {
            Self::Sha1 => 40,
            Self::Sha256 | Self::Blake3 => 64,
            Self::Sha384 => 96,
            Self::Sha512 => 128,
        }
    }

    #[must_use]
    pub fn digester(self) -> Digester {
        Digester(match self {
            Self::Sha1 => Hasher::Sha1(sha1::Sha1::default()),
            Self::Sha256 => Hasher::Sha256(sha2::Sha256::default()),
            Self::Sha384 => Hasher::Sha384(sha2::Sha384::default()),
            Self::Sha512 => Hasher::Sha512(sha2::Sha512::default()),
            Self::Blake3 => Hasher::Blake3(Box::default()),
        })
    }

    /// The digest of bytes.
    #[must_use]
    pub fn digest(self, bytes: &[u8]) -> Digest {
        let mut digester = self.digester();
        digester.update(bytes);
        digester.finish()
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = DigestError;

    fn from_str(name: &str) -> Result<Self, DigestError> {
        let algorithm = Self::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        algorithm.ok_or_else(|| DigestError::Unsupported { name: name.to_owned() })
    }
}

/// A digest: an algorithm and a hash in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest {
    algorithm: Algorithm,
    hex: Box<str>,
}

impl Digest {
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The hash in hexadecimal digits, `encoded` in go-digest's words.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// Whether the bytes have this digest.
    #[must_use]
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        self.algorithm.digest(bytes) == *self
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm, self.hex)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let malformed = |reason| DigestError::Malformed {
            text: text.to_owned(),
            reason,
        };
        let parts = text
            .split_once(':')
            .filter(|(name, hex)| !name.is_empty() && !hex.is_empty());
        let (name, hex) = parts.ok_or_else(|| malformed(Malformed::Form))?;
        let algorithm = name.parse::<Algorithm>().map_err(|unsupported| {
            if is_name(name) && is_encoded(hex) {
                unsupported
            } else {
                malformed(Malformed::Form)
            }
        })?;
        if hex.len() != algorithm.hex_len() {
            return Err(malformed(Malformed::Length(algorithm)));
        }
        if !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(malformed(Malformed::Digits));
        }
        let hex = hex.into();
        Ok(Self { algorithm, hex })
    }
}

/// Whether the part before the colon is valid: `[a-z0-9]+(?:[.+_-][a-z0-9]+)*`.
fn is_name(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.split(['.', '+', '_', '-']).all(is_word)
}

/// Whether the part after it is valid: `[a-zA-Z0-9=_-]+`.
fn is_encoded(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'=' | b'_' | b'-'))
}

/// The fault of a malformed digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    Form,
    /// Too few or too many digits for the algorithm.
    Length(Algorithm),
    /// Characters other than `0-9a-f`.
    Digits,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("it must be <algorithm>:<hash>"),
            Self::Length(algorithm) => write!(f, "{algorithm} has {} digits", algorithm.hex_len()),
            Self::Digits => f.write_str("its digits must be 0-9 and a-f, in lower case"),
        }
    }
}

/// An invalid digest, or an unsupported algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DigestError {
    #[error("read the digest {}: {reason}", quote(text))]
    Malformed { text: String, reason: Malformed },
    /// An algorithm that source-controller does not support either.
    #[error("unsupported digest algorithm: {name}; use sha256, sha384, sha512, blake3 or sha1")]
    Unsupported { name: String },
}

/// Calculates the digest of the bytes written to it.
#[derive(Debug, Clone)]
pub struct Digester(Hasher);

#[derive(Debug, Clone)]
enum Hasher {
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
    Blake3(Box<blake3::Hasher>),
}

impl Digester {
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Hasher::Sha1(state) => state.update(bytes),
            Hasher::Sha256(state) => state.update(bytes),
            Hasher::Sha384(state) => state.update(bytes),
            Hasher::Sha512(state) => state.update(bytes),
            Hasher::Blake3(state) => {
                state.update(bytes);
            }
        }
    }

    /// The digest of all bytes so far.
    #[must_use]
    pub fn finish(self) -> Digest {
        let (algorithm, hex) = match self.0 {
            Hasher::Sha1(state) => (Algorithm::Sha1, hex(&state.finalize())),
            Hasher::Sha256(state) => (Algorithm::Sha256, hex(&state.finalize())),
            Hasher::Sha384(state) => (Algorithm::Sha384, hex(&state.finalize())),
            Hasher::Sha512(state) => (Algorithm::Sha512, hex(&state.finalize())),
            Hasher::Blake3(state) => (Algorithm::Blake3, hex(state.finalize().as_bytes())),
        };
        Digest { algorithm, hex }
    }
}

impl io::Write for Digester {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> Box<str> {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect::<String>().into()
}
