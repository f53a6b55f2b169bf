//! Why a pattern is not a regular expression, in Go's words.

use bumpwright_gostd::lossy;
use std::fmt;

/// The problem with a pattern, and the part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub code: ErrorCode,
    /// The part of the pattern; any bytes.
    pub part: Vec<u8>,
}

/// Go's `syntax.ErrorCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Each says it in `Display`.
pub enum ErrorCode {
    InvalidClassRange,
    InvalidEscape,
    InvalidNamedCapture,
    InvalidPerlOperator,
    InvalidRepeatOperator,
    InvalidRepeatCount,
    InvalidUtf8,
    MissingBracket,
    MissingParen,
    MissingRepeatArgument,
    TrailingBackslash,
    UnexpectedParen,
    NestingDepth,
    TooLarge,
}

impl Error {
    pub(super) fn new(code: ErrorCode, part: &[u8]) -> Self {
        Self {
            code,
            part: part.to_vec(),
        }
    }

    /// Go's text as bytes; `Display` has U+FFFD for invalid ones.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("error parsing regexp: {}: `", self.code).into_bytes();
        text.extend_from_slice(&self.part);
        text.push(b'`');
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lossy(&self.to_bytes()))
    }
}

impl std::error::Error for Error {}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidClassRange => "invalid character class range",
            Self::InvalidEscape => "invalid escape sequence",
            Self::InvalidNamedCapture => "invalid named capture",
            Self::InvalidPerlOperator => "invalid or unsupported Perl syntax",
            Self::InvalidRepeatOperator => "invalid nested repetition operator",
            Self::InvalidRepeatCount => "invalid repeat count",
            Self::InvalidUtf8 => "invalid UTF-8",
            Self::MissingBracket => "missing closing ]",
            Self::MissingParen => "missing closing )",
            Self::MissingRepeatArgument => "missing argument to repetition operator",
            Self::TrailingBackslash => "trailing backslash at end of expression",
            Self::UnexpectedParen => "unexpected )",
            Self::NestingDepth => "expression nests too deeply",
            Self::TooLarge => "expression too large",
        })
    }
}
