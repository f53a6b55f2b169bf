//! `#`, `##`, `%` and `%%`: remove the shortest or longest prefix or suffix of a value that matches a pattern.

use std::borrow::Cow;

use super::budget::{Budget, EvalError};
use super::eval::Value;
use super::glob::{GlobMatch, matches};
use bumpwright_gostd::{append_char, runes};
use bumpwright_text::Parts;

/// Removes a matching prefix; a bad pattern leaves the value unchanged.
pub(crate) fn trim_prefix<'v>(
    value: &'v [u8],
    pattern: &[u8],
    longest: bool,
    budget: &mut Budget<'_>,
) -> Result<Value<'v>, EvalError> {
    let length = matched(value, pattern, longest, budget)?;
    Ok(Cow::Borrowed(value.tail(length)))
}

/// Removes a matching suffix. As in envsubst, value and pattern are reversed, and so are ranges and
/// escapes in the pattern; bytes that are not UTF-8 become U+FFFD then, even where nothing matches.
pub(crate) fn trim_suffix<'v>(
    value: &'v [u8],
    pattern: &[u8],
    longest: bool,
    budget: &mut Budget<'_>,
) -> Result<Value<'v>, EvalError> {
    budget.reserve(value.len().saturating_mul(6))?;
    let value = reverse(value);
    let length = matched(&value, &reverse(pattern), longest, budget)?;
    Ok(Cow::Owned(reverse(value.tail(length))))
}

/// The length of the matching prefix in bytes: none where nothing matches or the pattern is bad.
///
/// Lengths are tried from the longest on, since it matters where a bad pattern is detected. Patterns that are certainly
/// valid are tried from the shortest on for the shortest match.
fn matched(value: &[u8], pattern: &[u8], longest: bool, budget: &mut Budget<'_>) -> Result<usize, EvalError> {
    let cannot_be_bad = memchr::memchr2(b'[', b'\\', pattern).is_none();
    if !longest && cannot_be_bad {
        for length in 1..=value.len() {
            if matches_prefix(value, length, pattern, budget)? == GlobMatch::Match {
                return Ok(length);
            }
        }
        return Ok(0);
    }
    let mut shortest = 0;
    for length in (1..=value.len()).rev() {
        match matches_prefix(value, length, pattern, budget)? {
            GlobMatch::BadPattern => return Ok(0),
            GlobMatch::Match if longest => return Ok(length),
            GlobMatch::Match => shortest = length,
            GlobMatch::NoMatch => {}
        }
    }
    Ok(shortest)
}

fn matches_prefix(
    value: &[u8],
    length: usize,
    pattern: &[u8],
    budget: &mut Budget<'_>,
) -> Result<GlobMatch, EvalError> {
    matches(pattern, value.part(..length), budget)
}

fn reverse(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let characters: Vec<char> = runes(text).map(|(ch, _)| ch).collect();
    for ch in characters.into_iter().rev() {
        append_char(&mut out, ch);
    }
    out
}
