//! The results of the operators: bytes, as Go's strings are.

use std::borrow::Cow;

use memchr::memmem;

use super::budget::{Budget, EvalError};
use super::eval::Value;
use super::program::Operator;
use super::trim::{trim_prefix, trim_suffix};
use bumpwright_gostd::unicode::{to_lower, to_upper};
use bumpwright_gostd::{append_char, atoi, first_rune, runes};
use bumpwright_text::Parts;

pub(crate) fn apply<'v>(
    operator: Operator,
    value: &'v [u8],
    arguments: Vec<Value<'v>>,
    budget: &mut Budget<'_>,
) -> Result<Value<'v>, EvalError> {
    // Missing arguments are empty texts where the operator does not need them.
    let argument = |at: usize| arguments.get(at).map_or(&[][..], |argument| argument);
    let (first, second) = (argument(0), argument(1));
    Ok(match operator {
        Operator::Value => Cow::Borrowed(value),
        Operator::Default => return default(value, arguments, budget),
        Operator::Length => Cow::Owned(value.len().to_string().into_bytes()),
        Operator::Lower { first } => cased(value, first, to_lower, budget)?,
        Operator::Upper { first } => cased(value, first, to_upper, budget)?,
        Operator::TrimPrefix { longest } => trim_prefix(value, first, longest, budget)?,
        Operator::TrimSuffix { longest } => trim_suffix(value, first, longest, budget)?,
        Operator::Substring => Cow::Borrowed(substring(value, first, arguments.get(1).map(|length| &**length))),
        Operator::ReplaceFirst | Operator::ReplaceAll if arguments.is_empty() => Cow::Borrowed(value),
        Operator::ReplaceFirst => replace(value, first, second, 1, budget)?,
        Operator::ReplaceAll => replace(value, first, second, usize::MAX, budget)?,
        Operator::ReplacePrefix | Operator::ReplaceSuffix if arguments.len() < 2 => Cow::Borrowed(value),
        Operator::ReplacePrefix if value.starts_with(first) => replace(value, first, second, 1, budget)?,
        Operator::ReplacePrefix => Cow::Borrowed(value),
        Operator::ReplaceSuffix => match value.strip_suffix(first) {
            Some(kept) => {
                budget.reserve(kept.len() + second.len())?;
                Cow::Owned([kept, second].concat())
            }
            None => Cow::Borrowed(value),
        },
    })
}

/// The value, or where it is empty the concatenated arguments.
fn default<'v>(value: &'v [u8], arguments: Vec<Value<'v>>, budget: &mut Budget<'_>) -> Result<Value<'v>, EvalError> {
    if !value.is_empty() {
        return Ok(Cow::Borrowed(value));
    }
    match <[Value<'v>; 1]>::try_from(arguments) {
        Ok([only]) => Ok(only),
        Err(arguments) => {
            budget.reserve(arguments.iter().map(|argument| argument.len()).sum())?;
            Ok(Cow::Owned(arguments.concat()))
        }
    }
}

/// All of a value, or its first character, in the other case. Bytes that are not UTF-8 become U+FFFD, as in Go, unless
/// the whole value is ASCII.
fn cased<'v>(
    value: &'v [u8],
    only_first: bool,
    case: fn(char) -> char,
    budget: &mut Budget<'_>,
) -> Result<Value<'v>, EvalError> {
    // No character's other case is more than three times as long.
    budget.reserve(value.len().saturating_mul(3))?;
    let mut out = Vec::with_capacity(value.len());
    if only_first {
        let Some((ch, width)) = first_rune(value) else {
            return Ok(Cow::Borrowed(value));
        };
        append_char(&mut out, case(ch));
        out.extend_from_slice(value.tail(width));
    } else {
        for (ch, _) in runes(value) {
            append_char(&mut out, case(ch));
        }
    }
    Ok(Cow::Owned(out))
}

/// `${a:position:length}` in bytes. Negative ones count from the end (a negative length as in envsubst v1.7.1; older
/// versions panic); an invalid number leaves the value unchanged.
fn substring<'v>(value: &'v [u8], position: &[u8], length: Option<&[u8]>) -> &'v [u8] {
    let Ok(position) = atoi(position) else { return value };
    let size = i64::try_from(value.len()).unwrap_or(i64::MAX);
    let from = if position < 0 {
        position.saturating_add(size).max(0)
    } else {
        position
    };
    let until = match length {
        None => size,
        Some(length) => match atoi(length) {
            Err(_) => return value,
            Ok(length) if length < 0 => size.saturating_add(length),
            Ok(length) => from.saturating_add(length).min(size),
        },
    };
    let bounds = usize::try_from(from).ok().zip(usize::try_from(until).ok());
    let part = bounds.and_then(|(from, until)| value.get(from..until));
    part.unwrap_or_default()
}

/// `strings.Replace`: an empty `old` matches before every character and at the end.
fn replace<'v>(
    value: &'v [u8],
    old: &[u8],
    new: &[u8],
    times: usize,
    budget: &mut Budget<'_>,
) -> Result<Value<'v>, EvalError> {
    let places: Vec<usize> = if old.is_empty() {
        boundaries(value).take(times).collect()
    } else {
        memmem::find_iter(value, old).take(times).collect()
    };
    let grown = places
        .len()
        .checked_mul(new.len())
        .and_then(|more| more.checked_add(value.len()));
    budget.reserve(grown.ok_or(EvalError::TooLarge)?)?;
    let mut out = Vec::new();
    let mut done = 0;
    for at in places {
        out.extend_from_slice(value.part(done..at));
        out.extend_from_slice(new);
        done = at + old.len();
    }
    out.extend_from_slice(value.part(done..));
    Ok(Cow::Owned(out))
}

/// The starts of characters, and the end.
fn boundaries(value: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let widths = runes(value).map(|(_, width)| width);
    std::iter::once(0).chain(widths.scan(0, |at, width| {
        *at += width;
        Some(*at)
    }))
}
