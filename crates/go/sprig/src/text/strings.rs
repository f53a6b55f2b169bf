//! Trims, replaces, cuts and quotes strings.
//!
//! Lengths and positions are counted in bytes, so cutting may break a character, as it does in Go.

use super::strval::{made, searched, strval, walked};
use bumpwright_gostd::{append_quoted, first_rune, last_rune, runes, unicode};
use bumpwright_template::{ANY, Args, BOOL, Failure, Function, Host, INT, STRING, Text, Value, print};
use bumpwright_text::Parts;
use memchr::memmem;
use std::collections::BTreeSet;

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("hello", &[], &STRING, |_, _| Ok("Hello!".into())),
    Function::new("trunc", &[&INT, &STRING], &STRING, trunc),
    Function::new("substr", &[&INT, &INT, &STRING], &STRING, substr),
    Function::new("abbrev", &[&INT, &STRING], &STRING, abbrev),
    Function::new("abbrevboth", &[&INT, &INT, &STRING], &STRING, abbrev_both),
    Function::new("trim", &[&STRING], &STRING, trim),
    Function::new("trimall", &[&STRING, &STRING], &STRING, trim_all),
    Function::new("trimAll", &[&STRING, &STRING], &STRING, trim_all),
    Function::new("trimPrefix", &[&STRING, &STRING], &STRING, trim_prefix),
    Function::new("trimSuffix", &[&STRING, &STRING], &STRING, trim_suffix),
    Function::new("contains", &[&STRING, &STRING], &BOOL, contains),
    Function::new("hasPrefix", &[&STRING, &STRING], &BOOL, has_prefix),
    Function::new("hasSuffix", &[&STRING, &STRING], &BOOL, has_suffix),
    Function::new("nospace", &[&STRING], &STRING, nospace),
    Function::new("initials", &[&STRING], &STRING, initials),
    Function::new("replace", &[&STRING, &STRING, &STRING], &STRING, replace),
    Function::new("repeat", &[&INT, &STRING], &STRING, repeat),
    Function::new("plural", &[&STRING, &STRING, &INT], &STRING, plural),
    Function::new("quote", &[&ANY], &STRING, quote).variadic(),
    Function::new("squote", &[&ANY], &STRING, squote).variadic(),
    Function::new("cat", &[&ANY], &STRING, cat).variadic(),
    Function::new("shuffle", &[&STRING], &STRING, shuffle),
];

/// A length of strings that Go cannot create on any machine.
const MAX_ALLOCATION: u64 = 1 << 48;

fn part(host: &mut Host<'_>, part: &[u8]) -> Result<Value, Failure> {
    Ok(made(host, part.to_vec())?.into())
}

/// The first bytes or, for a negative number, the last ones.
fn trunc(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (count, text) = (args.int(0)?, args.text(1)?);
    let kept = match usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX) {
        length if length >= text.len() => return Ok(Value::text(text)),
        length if count < 0 => text.part(text.len() - length..),
        length => text.part(..length),
    };
    part(host, kept)
}

fn substr(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (start, end, text) = (args.int(0)?, args.int(1)?, args.text(2)?);
    let out_of_range = |bounds: String| Failure::new(format!("runtime error: slice bounds out of range {bounds}"));
    let length = text.len() as i64;
    let (start, end) = match (start, end) {
        (..0, ..0) => return Err(out_of_range(format!("[:{end}]"))),
        (..0, _) if end > length => return Err(out_of_range(format!("[:{end}] with length {length}"))),
        (..0, _) => (0, end),
        _ if end < 0 || end > length => (start, length),
        _ => (start, end),
    };
    if start > end {
        return Err(out_of_range(format!("[{start}:{end}]")));
    }
    part(host, text.part(start as usize..end as usize))
}

fn abbrev(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (width, text) = (args.int(0)?, args.text(1)?);
    if width < 4 {
        return Ok(Value::text(text));
    }
    Ok(made(host, abbreviated(text, 0, width))?.into())
}

fn abbrev_both(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (left, right, text) = (args.int(0)?, args.int(1)?, args.text(2)?);
    if right < 4 || left > 0 && right < 7 {
        return Ok(Value::text(text));
    }
    Ok(made(host, abbreviated(text, left, right))?.into())
}

/// At most `width` bytes of `text`, with dots for the parts left out. The byte at `offset` stays, though not always as
/// the first one.
fn abbreviated(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    const DOTS: &[u8] = b"...";
    let length = text.len() as i64;
    if length <= width {
        return text.to_vec();
    }
    let shown = width - DOTS.len() as i64;
    let mut offset = offset.min(length);
    // Go's own arithmetic wraps around for offsets far below zero.
    if length.wrapping_sub(offset) < shown {
        offset = length - shown;
    }
    let slice = |from: i64, to: i64| text.part(from as usize..to as usize);
    if offset <= 4 {
        [slice(0, shown), DOTS].concat()
    } else if width < 7 {
        // Dots on both sides would leave nothing; Sprig drops the error.
        Vec::new()
    } else if offset + shown < length {
        [DOTS, &abbreviated(slice(offset, length), 0, shown)].concat()
    } else {
        [DOTS, slice(length - shown, length)].concat()
    }
}

fn trim(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    trimmed(host, args.text(0)?, unicode::is_space)
}

fn trim_all(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let cutset = args.text(0)?;
    walked(host, cutset)?;
    let cutset: BTreeSet<char> = runes(cutset).map(|(ch, _)| ch).collect();
    trimmed(host, args.text(1)?, |ch| cutset.contains(&ch))
}

fn trimmed(host: &mut Host<'_>, text: &Text, cut: impl Fn(char) -> bool) -> Result<Value, Failure> {
    let mut trimmed: &[u8] = text;
    while let Some((ch, width)) = first_rune(trimmed)
        && cut(ch)
    {
        trimmed = trimmed.tail(width);
    }
    while let Some((ch, width)) = last_rune(trimmed)
        && cut(ch)
    {
        trimmed = trimmed.part(..trimmed.len() - width);
    }
    walked(host, text.part(trimmed.len()..))?;
    if trimmed.len() == text.len() {
        return Ok(Value::text(text));
    }
    part(host, trimmed)
}

fn trim_prefix(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (prefix, text) = (args.text(0)?, args.text(1)?);
    searched(host, prefix)?;
    part(host, text.strip_prefix(&**prefix).unwrap_or(text))
}

fn trim_suffix(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (suffix, text) = (args.text(0)?, args.text(1)?);
    searched(host, suffix)?;
    part(host, text.strip_suffix(&**suffix).unwrap_or(text))
}

fn contains(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (needle, text) = (args.text(0)?, args.text(1)?);
    searched(host, needle)?;
    searched(host, text)?;
    Ok(memmem::find(text, needle).is_some().into())
}

fn has_prefix(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let prefix = args.text(0)?;
    searched(host, prefix)?;
    Ok(args.text(1)?.starts_with(prefix).into())
}

fn has_suffix(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let suffix = args.text(0)?;
    searched(host, suffix)?;
    Ok(args.text(1)?.ends_with(suffix).into())
}

/// Without white space, byte by byte: where any was found, the bytes of other characters become characters themselves.
fn nospace(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let text = args.text(0)?;
    walked(host, text)?;
    let chars = || text.iter().map(|byte| char::from(*byte));
    if !chars().any(unicode::is_space) {
        return Ok(Value::text(text));
    }
    let without_spaces: String = chars().filter(|ch| !unicode::is_space(*ch)).collect();
    Ok(made(host, without_spaces.into_bytes())?.into())
}

/// The first byte of each word as a character.
fn initials(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let mut out = String::new();
    let mut behind_gap = true;
    let text = args.text(0)?;
    walked(host, text)?;
    for ch in text.iter().map(|byte| char::from(*byte)) {
        let is_gap = unicode::is_space(ch);
        if behind_gap && !is_gap {
            out.push(ch);
        }
        behind_gap = is_gap;
    }
    Ok(made(host, out.into_bytes())?.into())
}

fn replace(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (old, new, text) = (args.text(0)?, args.text(1)?, args.text(2)?);
    searched(host, old)?;
    searched(host, text)?;
    Ok(replaced(host, text, old, new)?.into())
}

/// `text` with each `old` replaced; without an `old`, `new` comes before each character and at the end.
pub(crate) fn replaced(host: &mut Host<'_>, text: &[u8], old: &[u8], new: &[u8]) -> Result<Text, Failure> {
    let count = match old {
        [] => 1 + runes(text).count(),
        old => memmem::find_iter(text, old).count(),
    };
    let length = (text.len() - count * old.len()).saturating_add(count.saturating_mul(new.len()));
    host.produce(length)?;
    let mut out = Vec::with_capacity(length);
    let mut start = 0;
    let push = |out: &mut Vec<u8>, before: &[u8], new: &[u8]| {
        out.extend_from_slice(before);
        out.extend_from_slice(new);
    };
    if old.is_empty() {
        push(&mut out, b"", new);
        for (_, width) in runes(text) {
            push(&mut out, text.part(start..start + width), new);
            start += width;
        }
    } else {
        for at in memmem::find_iter(text, old) {
            push(&mut out, text.part(start..at), new);
            start = at + old.len();
        }
        push(&mut out, text.tail(start), b"");
    }
    Ok(out.into())
}

fn repeat(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let repeated = repeated(host, args.text(1)?, args.int(0)?)?;
    Ok(Value::text(repeated))
}

/// Go's `strings.Repeat`, with its panics.
pub(crate) fn repeated(host: &mut Host<'_>, text: &[u8], count: i64) -> Result<Vec<u8>, Failure> {
    let Ok(count) = u64::try_from(count) else {
        return Err(Failure::new("strings: negative Repeat count"));
    };
    let length = (text.len() as u64).checked_mul(count);
    match length.filter(|length| i64::try_from(*length).is_ok()) {
        None => return Err(Failure::new("strings: Repeat output length overflow")),
        Some(length) if length > MAX_ALLOCATION && count > 1 => {
            return Err(Failure::new("runtime error: makeslice: len out of range"));
        }
        Some(length) => host.produce(usize::try_from(length).unwrap_or(usize::MAX))?,
    }
    Ok(if text.is_empty() {
        Vec::new()
    } else {
        text.repeat(count as usize)
    })
}

fn plural(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let form = if args.int(2)? == 1 { 0 } else { 1 };
    args.value(form).cloned()
}

fn quote(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    spaced(host, args, |host, out, value| {
        let text = strval(host, value)?;
        // The longest escape is `\xff`.
        host.produce(text.len().saturating_mul(4))?;
        append_quoted(out, &text, false);
        Ok(())
    })
}

/// In single quotes, with nothing escaped.
fn squote(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    spaced(host, args, |host, out, value| {
        out.push(b'\'');
        print(host, out, value)?;
        out.push(b'\'');
        Ok(())
    })
}

fn cat(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    spaced(host, args, print)
}

/// The arguments that are not nil, with spaces between them.
fn spaced(
    host: &mut Host<'_>,
    args: Args<'_>,
    mut push: impl FnMut(&mut Host<'_>, &mut Vec<u8>, &Value) -> Result<(), Failure>,
) -> Result<Value, Failure> {
    let mut out = Vec::new();
    let given = args.0.iter().filter(|value| !matches!(value, Value::Nil));
    for (index, value) in given.enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        let before = out.len();
        push(host, &mut out, value)?;
        host.produce(out.len() - before)?;
    }
    Ok(Value::text(out))
}

/// The characters in a random order.
fn shuffle(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let text = args.text(0)?;
    host.produce(text.len().saturating_mul(size_of::<char>()))?;
    walked(host, text)?;
    let mut shuffled: Vec<char> = runes(text).map(|(ch, _)| ch).collect();
    let mut random = [0; 512];
    for upper in (1..shuffled.len()).rev() {
        const DRAW: usize = size_of::<u64>();
        let place = upper * DRAW % random.len();
        if place + DRAW == random.len() || upper + 1 == shuffled.len() {
            host.world().random(&mut random);
        }
        let bytes = random.get(place..place + DRAW).and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.map_or(0, u64::from_le_bytes);
        // The high half of the product is below the bound, and almost uniform for any bound that fits in memory.
        let chosen = (u128::from(bytes) * (upper as u128 + 1)) >> u64::BITS;
        shuffled.swap(upper, chosen as usize);
    }
    Ok(made(host, String::from_iter(shuffled).into_bytes())?.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;

    /// Returns the result as text, or the failure.
    fn said(name: &str, arguments: &[Value]) -> String {
        match call(name, arguments) {
            Ok(Value::String(text)) => text.lossy().into_owned(),
            Ok(other) => format!("{other:?}"),
            Err(Failure::Error(text)) => text,
            Err(_) => "limit".to_owned(),
        }
    }

    #[test]
    fn cutting_counts_bytes() {
        let int = Value::int;
        for (name, arguments, expected) in [
            ("trunc", vec![int(2), "a\u{e9}".into()], "a\u{fffd}"),
            ("trunc", vec![int(-1), "abc".into()], "c"),
            ("trunc", vec![int(-3), "abc".into()], "abc"),
            ("trunc", vec![int(i64::MIN), "abc".into()], "abc"),
            ("substr", vec![int(1), int(2), "abc".into()], "b"),
            ("substr", vec![int(-9), int(2), "abc".into()], "ab"),
            ("substr", vec![int(1), int(9), "abc".into()], "bc"),
            (
                "substr",
                vec![int(-1), int(-2), "abc".into()],
                "runtime error: slice bounds out of range [:-2]",
            ),
            (
                "substr",
                vec![int(-1), int(4), "abc".into()],
                "runtime error: slice bounds out of range [:4] with length 3",
            ),
            (
                "substr",
                vec![int(4), int(-1), "abc".into()],
                "runtime error: slice bounds out of range [4:3]",
            ),
            ("abbrev", vec![int(3), "abcdef".into()], "abcdef"),
            ("abbrev", vec![int(5), "abcdef".into()], "ab..."),
            (
                "abbrevboth",
                vec![int(5), int(10), "0123456789abcdefgh".into()],
                "...5678...",
            ),
            (
                "abbrevboth",
                vec![int(15), int(10), "0123456789abcdefgh".into()],
                "...bcdefgh",
            ),
            (
                "abbrevboth",
                vec![int(i64::MIN), int(8), "0123456789".into()],
                "...56789",
            ),
        ] {
            assert_eq!(said(name, &arguments), expected, "{name} {arguments:?}");
        }
    }

    #[test]
    fn pieces_are_replaced_and_dropped() {
        let bytes = |bytes: &[u8]| Value::text(bytes);
        for (name, arguments, expected) in [
            ("trim", vec![" \u{a0}\u{2003}a b\u{85}\n".into()], "a b"),
            ("trim", vec!["\u{3000}".into()], ""),
            ("trimAll", vec!["\u{e9}$".into(), "$\u{e9}a$\u{e9}".into()], "a"),
            ("trimAll", vec![bytes(b"\xff"), bytes(b"\xfe\xefx\xc3")], "x"),
            ("trimPrefix", vec!["aa".into(), "aaaa".into()], "aa"),
            ("trimSuffix", vec!["b".into(), "abb".into()], "ab"),
            ("nospace", vec!["\u{e9}".into()], "\u{e9}"),
            ("nospace", vec!["\u{e9} ".into()], "\u{c3}\u{a9}"),
            ("initials", vec!["Ann \u{e9}va\tBo".into()], "A\u{c3}B"),
            ("replace", vec!["aa".into(), "b".into(), "aaa".into()], "ba"),
            ("replace", vec!["".into(), "-".into(), "\u{e9}x".into()], "-\u{e9}-x-"),
            ("plural", vec!["one".into(), "many".into(), Value::int(1)], "one"),
            ("plural", vec!["one".into(), "many".into(), Value::int(-1)], "many"),
        ] {
            assert_eq!(said(name, &arguments), expected, "{name} {arguments:?}");
        }
    }

    #[test]
    fn repeating_has_bounds() {
        for (count, text, expected) in [
            (3, "ab", "ababab"),
            (0, "ab", ""),
            (i64::MAX, "", ""),
            (-1, "", "strings: negative Repeat count"),
            (i64::MAX, "ab", "strings: Repeat output length overflow"),
            (i64::MAX, "a", "runtime error: makeslice: len out of range"),
            (1 << 40, "ab", "limit"),
        ] {
            assert_eq!(said("repeat", &[Value::int(count), text.into()]), expected);
        }
    }

    #[test]
    fn shuffling_keeps_the_characters() {
        let given: String = ('a'..='\u{1ff}').collect();
        let shuffled = said("shuffle", &[given.as_str().into()]);
        assert_ne!(shuffled, given);
        let mut sorted: Vec<char> = shuffled.chars().collect();
        sorted.sort_unstable();
        assert_eq!(String::from_iter(sorted), given);
    }
}
