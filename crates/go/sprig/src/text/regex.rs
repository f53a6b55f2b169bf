//! Regular expressions.
//!
//! Each function exists twice: with `must` it returns the error of a bad pattern, without it Go panics (and
//! `regexMatch` returns false). To a template both are errors, with different texts.

use bumpwright_gostd::{can_backquote, quote_bytes};
use bumpwright_re2::{Budget, Error, Exhausted, Regexp, quote_meta};
use bumpwright_template::{Args, BOOL, Failure, Function, Host, INT, STRING, STRINGS, Slice, Text, Value};
use bumpwright_text::Parts;
use std::{cell::RefCell, ops::Range, rc::Rc};

const PATTERN_AND_TEXT: &[&bumpwright_template::Type] = &[&STRING, &STRING];
const WITH_REPLACEMENT: &[&bumpwright_template::Type] = &[&STRING, &STRING, &STRING];
const WITH_LIMIT: &[&bumpwright_template::Type] = &[&STRING, &STRING, &INT];

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("regexMatch", PATTERN_AND_TEXT, &BOOL, |host, args| {
        let found = compiled(host, args, |_, error| Failure::new(error.to_string()));
        match found {
            Ok(regexp) => matches(host, args, &regexp),
            Err(Failure::Error(_)) => Ok(Value::Bool(false)),
            Err(limit) => Err(limit),
        }
    }),
    Function::new("mustRegexMatch", PATTERN_AND_TEXT, &BOOL, |host, args| {
        let regexp = compiled(host, args, returned)?;
        matches(host, args, &regexp)
    }),
    Function::new("regexFindAll", WITH_LIMIT, &STRINGS, |host, args| {
        let regexp = compiled(host, args, panicked)?;
        find_all(host, args, &regexp)
    }),
    Function::new("mustRegexFindAll", WITH_LIMIT, &STRINGS, |host, args| {
        let regexp = compiled(host, args, returned)?;
        find_all(host, args, &regexp)
    }),
    Function::new("regexFind", PATTERN_AND_TEXT, &STRING, |host, args| {
        let regexp = compiled(host, args, panicked)?;
        find(host, args, &regexp)
    }),
    Function::new("mustRegexFind", PATTERN_AND_TEXT, &STRING, |host, args| {
        let regexp = compiled(host, args, returned)?;
        find(host, args, &regexp)
    }),
    Function::new("regexReplaceAll", WITH_REPLACEMENT, &STRING, |host, args| {
        let regexp = compiled(host, args, panicked)?;
        replace(host, args, |text, by, budget| regexp.replace_all(text, by, budget))
    }),
    Function::new("mustRegexReplaceAll", WITH_REPLACEMENT, &STRING, |host, args| {
        let regexp = compiled(host, args, returned)?;
        replace(host, args, |text, by, budget| regexp.replace_all(text, by, budget))
    }),
    Function::new("regexReplaceAllLiteral", WITH_REPLACEMENT, &STRING, |host, args| {
        let regexp = compiled(host, args, panicked)?;
        replace(host, args, |text, by, budget| {
            regexp.replace_all_literal(text, by, budget)
        })
    }),
    Function::new("mustRegexReplaceAllLiteral", WITH_REPLACEMENT, &STRING, |host, args| {
        let regexp = compiled(host, args, returned)?;
        replace(host, args, |text, by, budget| {
            regexp.replace_all_literal(text, by, budget)
        })
    }),
    Function::new("regexSplit", WITH_LIMIT, &STRINGS, |host, args| {
        let regexp = compiled(host, args, panicked)?;
        split(host, args, &regexp)
    }),
    Function::new("mustRegexSplit", WITH_LIMIT, &STRINGS, |host, args| {
        let regexp = compiled(host, args, returned)?;
        split(host, args, &regexp)
    }),
    Function::new("regexQuoteMeta", &[&STRING], &STRING, |host, args| {
        let text = args.text(0)?;
        host.produce(text.len().saturating_mul(2))?;
        Ok(Value::text(quote_meta(text)))
    }),
];

/// Steps of the machine in the time of one of a template.
const STEPS_PER_STEP: u64 = 8;
/// The cost of compiling the shortest pattern, and of a class such as `\p{L}`: some have hundreds of ranges.
const STEPS_PER_PATTERN: u64 = 20;
const STEPS_PER_CLASS: u64 = 1000;
/// The part of a program, two instructions, that is written in a step.
const BYTES_PER_STEP: u64 = 32;
/// The memory of a pattern's tree for each byte of it.
const BYTES_PER_BYTE: usize = 64;
/// Shorter patterns are small beside their programs.
const LONG_PATTERN: usize = 4 << 10;
/// The size of a value in a list, besides its bytes.
const BYTES_PER_ITEM: usize = 64;

/// Recent patterns, so that those in loops are compiled once. The cache changes neither results nor costs.
const REMEMBERED: usize = 32;
const MAX_REMEMBERED_BYTES: usize = 1 << 20;

thread_local! {
    static RECENT: RefCell<Vec<Rc<Regexp>>> = const { RefCell::new(Vec::new()) };
}

/// The pattern in the first argument.
fn compiled(host: &mut Host<'_>, args: Args<'_>, failure: fn(&[u8], &Error) -> Failure) -> Result<Rc<Regexp>, Failure> {
    let pattern = args.text(0)?;
    host.step(STEPS_PER_PATTERN + pattern.len() as u64 / STEPS_PER_STEP)?;
    let classes = pattern.windows(2).filter(|pair| matches!(pair, [b'\\', b'p' | b'P']));
    host.step(STEPS_PER_CLASS.saturating_mul(classes.count() as u64))?;
    if pattern.len() > LONG_PATTERN {
        host.produce(pattern.len().saturating_mul(BYTES_PER_BYTE))?;
    }
    let regexp = match remembered(pattern) {
        Some(regexp) => regexp,
        None => Rc::new(Regexp::new(&**pattern).map_err(|error| failure(pattern, &error))?),
    };
    let size = regexp.memory();
    host.step(size as u64 / BYTES_PER_STEP)?;
    if size > MAX_REMEMBERED_BYTES {
        host.produce(size)?;
        return Ok(regexp);
    }
    RECENT.with_borrow_mut(|recent| {
        recent.truncate(REMEMBERED - 1);
        recent.insert(0, Rc::clone(&regexp));
    });
    Ok(regexp)
}

/// Removes the pattern from the recent ones.
fn remembered(pattern: &[u8]) -> Option<Rc<Regexp>> {
    RECENT.with_borrow_mut(|recent| {
        let index = recent.iter().position(|regexp| regexp.pattern() == pattern)?;
        Some(recent.remove(index))
    })
}

fn returned(_: &[u8], error: &Error) -> Failure {
    Failure::new(error.to_string())
}

/// Go's `regexp.MustCompile`.
fn panicked(pattern: &[u8], error: &Error) -> Failure {
    let pattern = if can_backquote(pattern) {
        format!("`{}`", String::from_utf8_lossy(pattern))
    } else {
        quote_bytes(pattern)
    };
    Failure::new(format!("regexp: Compile({pattern}): {error}"))
}

/// Searches within the rest of the rendering's limits.
fn within<T>(host: &mut Host<'_>, search: impl FnOnce(&mut Budget) -> Result<T, Exhausted>) -> Result<T, Failure> {
    let limits = host.limits();
    let mut budget = Budget::new(limits.steps.saturating_mul(STEPS_PER_STEP), limits.produced);
    let result = search(&mut budget);
    host.step(1 + budget.steps_used() / STEPS_PER_STEP)?;
    host.produce(budget.bytes_used())?;
    result.map_err(|exhausted| Failure::Limit(exhausted.to_string()))
}

fn matches(host: &mut Host<'_>, args: Args<'_>, regexp: &Regexp) -> Result<Value, Failure> {
    let text = args.text(1)?;
    within(host, |budget| regexp.is_match(text, budget)).map(Value::Bool)
}

fn find(host: &mut Host<'_>, args: Args<'_>, regexp: &Regexp) -> Result<Value, Failure> {
    let text = args.text(1)?;
    let found = within(host, |budget| regexp.find(text, budget))?;
    let found = found.map_or(&[][..], |range| text.part(range));
    host.produce(found.len())?;
    Ok(Value::text(found))
}

fn find_all(host: &mut Host<'_>, args: Args<'_>, regexp: &Regexp) -> Result<Value, Failure> {
    let (text, limit) = (args.text(1)?, args.int(2)?);
    let matches = within(host, |budget| regexp.find_all(text, limit, budget))?;
    if matches.is_empty() {
        return Ok(Value::Slice(Slice::nil(&STRING)));
    }
    parts(host, text, matches)
}

fn split(host: &mut Host<'_>, args: Args<'_>, regexp: &Regexp) -> Result<Value, Failure> {
    let (text, limit) = (args.text(1)?, args.int(2)?);
    match within(host, |budget| regexp.split(text, limit, budget))? {
        Some(found) => parts(host, text, found),
        None => Ok(Value::Slice(Slice::nil(&STRING))),
    }
}

fn parts(host: &mut Host<'_>, text: &[u8], ranges: Vec<Range<usize>>) -> Result<Value, Failure> {
    let bytes: usize = ranges.iter().map(|range| range.len() + BYTES_PER_ITEM).sum();
    host.produce(bytes)?;
    let parts = ranges.into_iter().map(|range| text.part(range));
    Ok(Value::strings(parts.map(Text::from)))
}

fn replace(
    host: &mut Host<'_>,
    args: Args<'_>,
    replaced: impl FnOnce(&[u8], &[u8], &mut Budget) -> Result<Vec<u8>, Exhausted>,
) -> Result<Value, Failure> {
    let (text, by) = (args.text(1)?, args.text(2)?);
    within(host, |budget| replaced(text, by, budget)).map(Value::text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::call;

    fn text(value: &str) -> Value {
        Value::from(value)
    }

    #[test]
    fn a_bad_pattern_is_returned_or_panicked_with() {
        let returned = "error parsing regexp: missing closing ): `(`a`";
        let cases = [
            ("mustRegexFind", returned.to_owned()),
            ("regexFind", format!("regexp: Compile(\"(`a\"): {returned}")),
        ];
        for (name, expected) in cases {
            assert_eq!(
                call(name, &[text("(`a"), text("")]).unwrap_err(),
                Failure::new(expected)
            );
        }
        let none = call("regexMatch", &[text("(`a"), text("(`a")]).unwrap();
        assert!(matches!(none, Value::Bool(false)));
    }

    #[test]
    fn nothing_found_is_nil() {
        for (name, limit) in [("regexFindAll", -1), ("regexFindAll", 0), ("regexSplit", 0)] {
            let found = call(name, &[text("x"), text("abc"), Value::int(limit)]).unwrap();
            assert!(found.is_nil(), "{name} {limit}");
        }
        let whole = call("regexSplit", &[text("x"), text("abc"), Value::int(-1)]).unwrap();
        assert!(!whole.is_nil());
    }

    #[test]
    fn what_takes_too_much_is_a_limit() {
        let long = "a".repeat(100_000);
        let many = call("regexMatch", &[text("(a?){1000}b"), text(&long)]);
        assert!(matches!(many, Err(Failure::Limit(_))), "{many:?}");
        let large = call("regexReplaceAll", &[text("a"), text(&long), text(&long)]);
        assert!(matches!(large, Err(Failure::Limit(_))), "{large:?}");
    }
}
