//! The clauses of format strings: `%s`, `%.3f`.

use bumpwright_gostd::{NumError, atoi};

use super::typing::Typing;

/// Digits after the point when a clause has no precision.
const DEFAULT_PRECISION: i64 = 6;

/// A clause in the format string of `format`, such as `%.2f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// `s`, `d`, `f`, `e`, `b`, `x`, `X` or `o`.
    pub verb: u8,
    /// Digits after the point.
    pub precision: i64,
}

/// A text is not a clause, in the words of cel-go.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClauseError {
    #[error(
        "could not parse formatting clause: error while parsing precision: could not find end of precision specifier"
    )]
    End,
    #[error(
        "could not parse formatting clause: error while parsing precision: error while converting precision to integer: {0}"
    )]
    Precision(#[from] NumError<i64>),
    #[error("could not parse formatting clause: unrecognized formatting clause \"{0}\"")]
    Verb(char),
}

impl Clause {
    /// Parses a clause after its `%`, which is not the last byte; returns it with the rest of the text.
    pub fn parse(text: &[u8]) -> Result<(Self, &[u8]), ClauseError> {
        let (precision, behind) = precision(text)?;
        match behind {
            [
                verb @ (b's' | b'd' | b'f' | b'e' | b'b' | b'x' | b'X' | b'o'),
                rest @ ..,
            ] => Ok((Self { verb: *verb, precision }, rest)),
            [other, ..] => Err(ClauseError::Verb(char::from(*other))),
            [] => Err(ClauseError::End),
        }
    }

    /// The message about a value of a type that the clause does not accept.
    pub fn refusal(self, type_name: &str) -> String {
        let what = match self.verb {
            b'd' => "decimal clause can only be used on ints, uints, and doubles",
            b'f' => "fixed-point clause can only be used on ints, uints, and doubles",
            b'e' => "scientific clause can only be used on ints, uints, and doubles",
            b'b' => "only ints, uints, and bools can be formatted as binary",
            b'x' | b'X' => "only ints, uints, bytes, and strings can be formatted as hex",
            b'o' => "octal clause can only be used on ints and uints",
            _ => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, \
                 and timestamps"
            }
        };
        format!("error during formatting: {what}, was given {type_name}")
    }

    /// Whether the clause accepts values of a type.
    pub fn takes(self, typing: &Typing) -> bool {
        let is_whole = matches!(typing, Typing::Dyn | Typing::Int | Typing::Uint);
        match self.verb {
            b'd' | b'f' | b'e' => is_whole || *typing == Typing::Double,
            b'b' => is_whole || *typing == Typing::Bool,
            b'x' | b'X' => is_whole || matches!(typing, Typing::String | Typing::Bytes),
            b'o' => is_whole,
            _ => !matches!(typing, Typing::Optional(_) | Typing::Error),
        }
    }
}

fn precision(clause: &[u8]) -> Result<(i64, &[u8]), ClauseError> {
    let [b'.', rest @ ..] = clause else {
        return Ok((DEFAULT_PRECISION, clause));
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, behind) = rest.split_at_checked(digits).unwrap_or((rest, &[]));
    if behind.is_empty() {
        return Err(ClauseError::End);
    }
    Ok((atoi(number)?, behind))
}
