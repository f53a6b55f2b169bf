//! Splits, joins and sorts strings.

use super::strval::{is_list_or_points_at_one, searched, strslice, strval};
use bumpwright_gostd as gostd;
use bumpwright_template::{
    ANY, Args, Failure, Function, Host, INT, Map, STRING, STRING_BYTES, STRING_MAP, STRINGS, Text, Value,
};
use memchr::memmem;

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("split", &[&STRING, &STRING], &STRING_MAP, split),
    Function::new("splitn", &[&STRING, &INT, &STRING], &STRING_MAP, splitn),
    Function::new("splitList", &[&STRING, &STRING], &STRINGS, split_list),
    Function::new("join", &[&STRING, &ANY], &STRING, join),
    Function::new("sortAlpha", &[&ANY], &STRINGS, sort_alpha),
    Function::new("toStrings", &[&ANY], &STRINGS, to_strings),
    Function::new("toString", &[&ANY], &STRING, to_string),
];

/// Bytes that an item of a list or of a map takes besides its text.
const ITEM: usize = size_of::<Value>() + STRING_BYTES;

fn split(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let parts = parts(host, args.text(1)?, args.text(0)?, usize::MAX)?;
    numbered(host, &parts)
}

fn splitn(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    // Go treats a negative number as no limit.
    let limit = usize::try_from(args.int(1)?).unwrap_or(usize::MAX);
    let parts = parts(host, args.text(2)?, args.text(0)?, limit)?;
    numbered(host, &parts)
}

fn split_list(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let parts = parts(host, args.text(1)?, args.text(0)?, usize::MAX)?;
    Ok(Value::strings(parts))
}

/// The parts of `text` between separators, `limit` at most: the last one is the rest. Without a separator the
/// parts are the characters.
fn parts<'t>(host: &mut Host<'_>, text: &'t [u8], separator: &[u8], limit: usize) -> Result<Vec<&'t [u8]>, Failure> {
    // Each part is copied, and the parts of an empty separator are found one by one.
    host.produce(text.len())?;
    searched(host, separator)?;
    let mut parts = Vec::new();
    let mut start = 0;
    let ends: &mut dyn Iterator<Item = (usize, usize)> = if separator.is_empty() {
        let mut end = 0;
        &mut gostd::runes(text).map(move |(_, width)| {
            end += width;
            (end, end)
        })
    } else {
        &mut memmem::find_iter(text, separator).map(|at| (at, at + separator.len()))
    };
    for (end, next) in ends.take_while(|(end, _)| !separator.is_empty() || *end < text.len()) {
        if parts.len() + 1 >= limit {
            break;
        }
        host.produce(ITEM)?;
        parts.extend(text.get(start..end));
        start = next;
    }
    if limit > 0 && !(separator.is_empty() && text.is_empty()) {
        host.produce(ITEM)?;
        parts.extend(text.get(start..));
    }
    Ok(parts)
}

/// A map of `_0`, `_1` …, so that templates can write `._0`.
fn numbered(host: &mut Host<'_>, parts: &[&[u8]]) -> Result<Value, Failure> {
    host.produce(Map::bytes(parts.len()).saturating_add(parts.len().saturating_mul(2 * STRING_BYTES)))?;
    let entries = parts.iter().enumerate();
    let entries = entries.map(|(index, part)| (Value::text(format!("_{index}")), Value::text(*part)));
    Ok(Value::Map(Map::new(&STRING, &STRING, entries)))
}

fn join(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let separator = args.text(0)?;
    let items = strslice(host, args.value(1)?)?;
    let between = separator.len().saturating_mul(items.len().saturating_sub(1));
    let length = items.iter().map(|item| item.len()).fold(between, usize::saturating_add);
    host.produce(length)?;
    let mut out = Vec::with_capacity(length);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(item);
    }
    Ok(Value::text(out))
}

/// By bytes, as Go compares strings.
fn sort_alpha(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let value = args.value(0)?;
    if !is_list_or_points_at_one(value) {
        return Ok(Value::strings([strval(host, value)?]));
    }
    let mut items = strslice(host, value)?;
    // Equal strings, which lists can share, are compared to their ends.
    let weight = items.iter().map(|item| 1 + item.len() as u64 / 64).sum::<u64>();
    host.step(weight.saturating_mul(u64::from(items.len().max(1).ilog2())))?;
    items.sort_unstable();
    Ok(same_or(value, items))
}

fn to_strings(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let value = args.value(0)?;
    let items = strslice(host, value)?;
    Ok(same_or(value, items))
}

/// A nil `[]string` stays nil, every other value becomes a list that is not nil.
fn same_or(value: &Value, items: Vec<Text>) -> Value {
    match value {
        Value::Slice(slice) if slice.is_nil() && *slice.item == STRING => value.clone(),
        _ => Value::strings(items),
    }
}

fn to_string(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(strval(host, args.value(0)?)?.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;

    fn list(value: &Value) -> Vec<String> {
        let item = |item: &Value| match item {
            Value::String(text) => text.lossy().into_owned(),
            other => format!("{other:?}"),
        };
        match value {
            Value::Map(map) => map
                .entries()
                .iter()
                .map(|(key, value)| format!("{}={}", item(key), item(value)))
                .collect(),
            other => other.items().unwrap().iter().map(item).collect(),
        }
    }

    #[test]
    fn strings_are_split_at_separators_or_everywhere() {
        for (separator, text, expected) in [
            (",", "a,,b,", vec!["a", "", "b", ""]),
            (",", "", vec![""]),
            ("", "", vec![]),
            ("", "a\u{e9}", vec!["a", "\u{e9}"]),
            ("aa", "aaa", vec!["", "a"]),
        ] {
            let parts = call("splitList", &[separator.into(), text.into()]).unwrap();
            assert_eq!(list(&parts), expected, "{separator:?} {text:?}");
        }
        for (limit, separator, expected) in [
            (0, "/", vec![]),
            (1, "/", vec!["_0=a/b/c"]),
            (2, "/", vec!["_0=a", "_1=b/c"]),
            (-1, "/", vec!["_0=a", "_1=b", "_2=c"]),
            (2, "", vec!["_0=a", "_1=/b/c"]),
        ] {
            let parts = call("splitn", &[separator.into(), Value::int(limit), "a/b/c".into()]).unwrap();
            assert_eq!(list(&parts), expected, "{limit} {separator:?}");
        }
    }

    #[test]
    fn lists_are_sorted_by_bytes_and_joined() {
        let given = Value::list(vec!["b".into(), Value::Nil, "\u{e9}".into(), "B".into()]);
        let sorted = call("sortAlpha", &[given]).unwrap();
        assert_eq!(list(&sorted), ["B", "b", "\u{e9}"]);
        let joined = call("join", &["--".into(), sorted]).unwrap();
        assert!(matches!(joined, Value::String(text) if text.lossy() == "B--b--\u{e9}"));
        let joined = call("join", &[",".into(), "alone".into()]).unwrap();
        assert!(matches!(joined, Value::String(text) if text.lossy() == "alone"));
    }

    #[test]
    fn sorting_counts_what_it_compares() {
        let long = Value::text("x".repeat(1 << 20));
        let many = Value::list(vec![long; 1 << 10]);
        assert!(matches!(call("sortAlpha", &[many]), Err(Failure::Limit(_))));
    }
}
