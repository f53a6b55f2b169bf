//! Why a text is not a version.

use thiserror::Error;

/// The longest accepted version, in bytes (Masterminds `MaxVersionLen`).
pub const MAX_VERSION_LEN: usize = 256;

/// Why a text is not a version. The words are those of Masterminds/semver, which users know from Flux's conditions.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionError {
    /// The text does not have the form of a version.
    #[error("invalid semantic version")]
    Invalid,
    /// The text is empty (strict parsing only).
    #[error("version string empty")]
    Empty,
    /// The text is longer than [`MAX_VERSION_LEN`].
    #[error("version string is too long (max {MAX_VERSION_LEN} bytes)")]
    TooLong,
    /// A segment contains something other than digits (strict parsing only).
    #[error("invalid characters in version")]
    InvalidCharacters,
    /// A number has a leading zero where none is allowed.
    #[error("version segment starts with 0")]
    SegmentStartsZero,
    /// The part after `+` is malformed (strict parsing only).
    #[error("invalid metadata string")]
    InvalidMetadata,
    /// The part after `-` is malformed (strict parsing only).
    #[error("invalid prerelease string")]
    InvalidPrerelease,
    /// A segment is not a 64-bit number (strict parsing).
    #[error(transparent)]
    Number(#[from] NumberError),
    /// A segment is not a 64-bit number (lenient parsing).
    #[error("error parsing version segment: {0}")]
    Segment(NumberError),
}

/// Why a segment is not a number, in the words of Go's `strconv`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NumberError {
    #[error("strconv.ParseUint: parsing \"\": invalid syntax")]
    Empty,
    /// The number does not fit 64 bits.
    #[error("strconv.ParseUint: parsing \"{0}\": value out of range")]
    OutOfRange(String),
}
