//! Lists. Each function accepts lists of any type of items; most return a `[]interface {}` with the same items.

use super::deep_equal::deep_equal;
use super::defaults::empty;
use crate::number::cast::{to_int, truncated};
use bumpwright_template::{ANY, Args, BOOL, Failure, Function, Host, INT, LIST, LIST_BYTES, LISTS, Slice, Text, Value};
use std::collections::HashSet;

/// The functions of this family. The forms with `must` are the same: Go's panics are errors here.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("list", &[&ANY], &LIST, list).variadic(),
    Function::new("tuple", &[&ANY], &LIST, list).variadic(),
    Function::new("append", &[&ANY, &ANY], &LIST, append),
    Function::new("push", &[&ANY, &ANY], &LIST, append),
    Function::new("mustAppend", &[&ANY, &ANY], &LIST, append),
    Function::new("mustPush", &[&ANY, &ANY], &LIST, append),
    Function::new("prepend", &[&ANY, &ANY], &LIST, prepend),
    Function::new("mustPrepend", &[&ANY, &ANY], &LIST, prepend),
    Function::new("concat", &[&ANY], &ANY, concat).variadic(),
    Function::new("first", &[&ANY], &ANY, first),
    Function::new("mustFirst", &[&ANY], &ANY, first),
    Function::new("last", &[&ANY], &ANY, last),
    Function::new("mustLast", &[&ANY], &ANY, last),
    Function::new("rest", &[&ANY], &LIST, rest),
    Function::new("mustRest", &[&ANY], &LIST, rest),
    Function::new("initial", &[&ANY], &LIST, initial),
    Function::new("mustInitial", &[&ANY], &LIST, initial),
    Function::new("reverse", &[&ANY], &LIST, reverse),
    Function::new("mustReverse", &[&ANY], &LIST, reverse),
    Function::new("compact", &[&ANY], &LIST, compact),
    Function::new("mustCompact", &[&ANY], &LIST, compact),
    Function::new("uniq", &[&ANY], &LIST, uniq),
    Function::new("mustUniq", &[&ANY], &LIST, uniq),
    Function::new("without", &[&ANY, &ANY], &LIST, without).variadic(),
    Function::new("mustWithout", &[&ANY, &ANY], &LIST, without).variadic(),
    Function::new("has", &[&ANY, &ANY], &BOOL, has),
    Function::new("mustHas", &[&ANY, &ANY], &BOOL, has),
    Function::new("slice", &[&ANY, &ANY], &ANY, slice).variadic(),
    Function::new("mustSlice", &[&ANY, &ANY], &ANY, slice).variadic(),
    Function::new("chunk", &[&INT, &ANY], &LISTS, chunk),
    Function::new("mustChunk", &[&INT, &ANY], &LISTS, chunk),
];

type Outcome = Result<Value, Failure>;

/// The counted bytes of a copied item. They are a quarter of the real ones, since lists that are built item by item are
/// copied each time, and dropped again; those that stay count in full.
const COPIED: usize = size_of::<Value>() / 4;

/// Go's panic when `reflect` takes the type of nil.
fn nil_dereference() -> Failure {
    Failure::new("runtime error: invalid memory address or nil pointer dereference")
}

/// The items of the list, or Sprig's error: `refusal` and the kind of the value.
fn items<'v>(list: &'v Value, refusal: &str) -> Result<&'v [Value], Failure> {
    let of = list.type_of().ok_or_else(nil_dereference)?;
    let refuse = || Failure::new(format!("{refusal} {}", of.kind_name()));
    list.items().ok_or_else(refuse)
}

/// A new list of the items, which are counted first.
fn copy<'v>(host: &mut Host<'_>, count: usize, items: impl IntoIterator<Item = &'v Value>) -> Outcome {
    host.produce(LIST_BYTES.saturating_add(count.saturating_mul(COPIED)))?;
    Ok(Value::list(items.into_iter().cloned().collect()))
}

fn list(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    copy(host, args.len(), args.0)
}

fn append(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let items = items(args.value(0)?, "Cannot push on type")?;
    copy(host, items.len() + 1, items.iter().chain([args.value(1)?]))
}

fn prepend(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let items = items(args.value(0)?, "Cannot prepend on type")?;
    copy(host, items.len() + 1, [args.value(1)?].into_iter().chain(items))
}

fn concat(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let mut joined = Vec::new();
    for list in args.0 {
        let of = list.type_of().ok_or_else(nil_dereference)?;
        let refuse = || Failure::new(format!("Cannot concat type {} as list", of.kind_name()));
        let items = list.items().ok_or_else(refuse)?;
        host.produce(items.len().saturating_mul(COPIED))?;
        joined.extend_from_slice(items);
    }
    Ok(if joined.is_empty() {
        Value::zero(&LIST)
    } else {
        Value::list(joined)
    })
}

fn first(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let items = items(args.value(0)?, "Cannot find first on type")?;
    Ok(Value::or_nil(items.first()))
}

fn last(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let items = items(args.value(0)?, "Cannot find last on type")?;
    Ok(Value::or_nil(items.last()))
}

fn rest(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    match items(args.value(0)?, "Cannot find rest on type")?.split_first() {
        Some((_, rest)) => copy(host, rest.len(), rest),
        None => Ok(Value::zero(&LIST)),
    }
}

fn initial(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    match items(args.value(0)?, "Cannot find initial on type")?.split_last() {
        Some((_, initial)) => copy(host, initial.len(), initial),
        None => Ok(Value::zero(&LIST)),
    }
}

fn reverse(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let items = items(args.value(0)?, "Cannot find reverse on type")?;
    copy(host, items.len(), items.iter().rev())
}

fn compact(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let items = items(args.value(0)?, "Cannot compact on type")?;
    copy(host, items.len(), items.iter().filter(|item| !empty(item)))
}

/// Whether a list has an item that is deeply equal to the value.
fn is_in(host: &mut Host<'_>, value: &Value, list: &[Value]) -> Result<bool, Failure> {
    for item in list {
        if deep_equal(host, value, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Values to compare many others with. Strings, whose lists may be long, are looked up in a set.
#[derive(Default)]
struct KnownValues {
    strings: HashSet<Text>,
    others: Vec<Value>,
}

impl KnownValues {
    fn has(&self, host: &mut Host<'_>, value: &Value) -> Result<bool, Failure> {
        match value {
            Value::String(text) => {
                host.read(value)?;
                Ok(self.strings.contains(text))
            }
            other => is_in(host, other, &self.others),
        }
    }

    fn learn(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.strings.insert(text.clone());
            }
            other => self.others.push(other.clone()),
        }
    }
}

fn uniq(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let items = items(args.value(0)?, "Cannot find uniq on type")?;
    host.produce(items.len().saturating_mul(COPIED))?;
    let mut distinct = KnownValues::default();
    let mut different = Vec::new();
    for item in items {
        if !distinct.has(host, item)? {
            distinct.learn(item);
            different.push(item.clone());
        }
    }
    Ok(Value::list(different))
}

fn without(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let items = items(args.value(0)?, "Cannot find without on type")?;
    host.produce(items.len().saturating_mul(COPIED))?;
    let mut excluded = KnownValues::default();
    args.rest(1).iter().for_each(|value| excluded.learn(value));
    let mut left = Vec::new();
    for item in items {
        if !excluded.has(host, item)? {
            left.push(item.clone());
        }
    }
    Ok(Value::list(left))
}

fn has(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let haystack = args.value(1)?;
    if matches!(haystack, Value::Nil) {
        return Ok(false.into());
    }
    let items = items(haystack, "Cannot find has on type")?;
    Ok(is_in(host, args.value(0)?, items)?.into())
}

/// The items from one index to before another. The result has the type of the list; that of an empty list is nil.
fn slice(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let list = args.value(0)?;
    let items = items(list, "list should be type of slice or array but")?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let mut indices = args.rest(1).iter().map(|index| usize::try_from(to_int(index)).ok());
    let start = indices.next().unwrap_or(Some(0));
    let end = indices.next().unwrap_or(Some(items.len()));
    let Value::Slice(of) = list.bare() else {
        return Err(Failure::new("reflect.Value.Slice: slice of unaddressable array"));
    };
    let part = start.zip(end).and_then(|(start, end)| items.get(start..end));
    let part = part.ok_or_else(|| Failure::new("reflect.Value.Slice: slice index out of bounds"))?;
    host.produce(part.len().saturating_mul(COPIED))?;
    let part = Value::Slice(Slice::new(of.item, part.to_vec()));
    Ok(match list {
        Value::Named(name, _) => Value::named(name, part),
        _ => part,
    })
}

/// Lists of `size` items each. The size may be anything: Sprig counts in floats, and the result of that is
/// reproduced here, before anything is allocated.
fn chunk(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let out_of_range = || Failure::new("runtime error: makeslice: len out of range");
    let size = args.int(0)?;
    let items = items(args.value(1)?, "Cannot chunk type")?;
    let count = items.len() as f64;
    let chunks = truncated(((count - 1.0) / size as f64).floor() + 1.0);
    let chunks = usize::try_from(chunks).map_err(|_| out_of_range())?;
    let length_of_last = match count % size as f64 {
        0.0 => size,
        length => truncated(length),
    };
    host.produce(items.len().saturating_mul(size_of::<Value>()))?;
    let mut left = items;
    let mut lists = Vec::new();
    for index in 1..=chunks {
        let length = if index == chunks { length_of_last } else { size };
        let length = usize::try_from(length).map_err(|_| out_of_range())?;
        host.produce(LIST_BYTES)?;
        let (chunk, after) = left.split_at_checked(length).unwrap_or((left, &[]));
        lists.push(Value::list(chunk.to_vec()));
        left = after;
    }
    Ok(Value::Slice(Slice::new(&LIST, lists)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;
    use bumpwright_template::{Array, STRING};

    fn ints(numbers: &[i64]) -> Value {
        Value::list(numbers.iter().copied().map(Value::int).collect())
    }

    fn said(result: Result<Value, Failure>) -> String {
        match result {
            Ok(value) if value.is_nil() => format!("nil {:?}", value.type_of().map(|of| of.to_string())),
            Ok(value) => format!("{value:?}"),
            Err(failure) => failure.text().to_owned(),
        }
    }

    #[test]
    fn chunks_are_counted_in_floats() {
        let make = "runtime error: makeslice: len out of range";
        for (size, length, expected) in [
            (2, 5, Ok(vec![2, 2, 1])),
            (5, 5, Ok(vec![5])),
            (i64::MAX, 2, Ok(vec![2])),
            (3, 0, Ok(vec![])),
            (0, 1, Err(make)),
            (0, 4, Err(make)),
            (-2, 1, Ok(vec![1])),
            (-2, 2, Ok(vec![])),
            (-2, 0, Err(make)),
            (-2, 5, Err(make)),
        ] {
            let list = ints(&(0..length).collect::<Vec<_>>());
            let lengths = call("chunk", &[Value::int(size), list]).map(|chunks| {
                let lengths = chunks.items().unwrap().iter().map(|chunk| chunk.items().unwrap().len());
                lengths.collect::<Vec<_>>()
            });
            assert_eq!(lengths, expected.map_err(Failure::new), "{size} of {length}");
        }
    }

    #[test]
    fn lists_keep_or_lose_their_types() {
        let strings = Value::strings(["a", "b", "c"]);
        let array = Value::Array(Array::new(&STRING, vec!["a".into()]));
        let empty = Value::list(Vec::new());
        for (name, arguments, expected) in [
            (
                "slice",
                vec![strings.clone(), Value::int(1)],
                said(Ok(Value::strings(["b", "c"]))),
            ),
            (
                "rest",
                vec![strings.clone()],
                said(Ok(Value::list(vec!["b".into(), "c".into()]))),
            ),
            (
                "slice",
                vec![array.clone()],
                "reflect.Value.Slice: slice of unaddressable array".to_owned(),
            ),
            ("slice", vec![empty.clone(), Value::int(7)], "nil None".to_owned()),
            ("rest", vec![empty.clone()], r#"nil Some("[]interface {}")"#.to_owned()),
            (
                "concat",
                vec![empty.clone()],
                r#"nil Some("[]interface {}")"#.to_owned(),
            ),
            ("first", vec![empty.clone()], "nil None".to_owned()),
            ("uniq", vec![empty.clone()], said(Ok(empty.clone()))),
            (
                "concat",
                vec![array, ints(&[1])],
                said(Ok(Value::list(vec!["a".into(), Value::int(1)]))),
            ),
        ] {
            assert_eq!(said(call(name, &arguments)), expected, "{name} {arguments:?}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let nil = "runtime error: invalid memory address or nil pointer dereference";
        let bounds = "reflect.Value.Slice: slice index out of bounds";
        for (name, arguments, expected) in [
            ("push", vec!["x".into(), Value::Nil], "Cannot push on type string"),
            (
                "concat",
                vec![Value::dict::<&str>([])],
                "Cannot concat type map as list",
            ),
            ("first", vec![Value::Nil], nil),
            ("concat", vec![Value::Nil], nil),
            ("slice", vec![ints(&[1, 2]), Value::int(2), Value::int(1)], bounds),
            ("slice", vec![ints(&[1, 2]), Value::int(-1)], bounds),
            ("slice", vec![ints(&[1, 2]), "0".into(), Value::float(3.7)], bounds),
        ] {
            assert_eq!(said(call(name, &arguments)), expected, "{name} {arguments:?}");
        }
        assert_eq!(said(call("has", &[Value::int(1), Value::Nil])), "Bool(false)");
    }

    #[test]
    fn long_lists_of_strings_stay_within_the_limits() {
        let strings = Value::strings((0..20_000).map(|number| format!("item {}", number / 2)));
        let Ok(unique) = call("uniq", &[strings]) else {
            panic!("too much")
        };
        assert_eq!(unique.items().unwrap().len(), 10_000);
    }

    #[test]
    fn equality_is_deep() {
        let pairs = Value::list(vec![
            ints(&[1]),
            ints(&[1]),
            Value::int(1),
            Value::int64(1),
            Value::float(1.0),
        ]);
        assert_eq!(
            said(call("uniq", std::slice::from_ref(&pairs))),
            said(Ok(Value::list(vec![
                ints(&[1]),
                Value::int(1),
                Value::int64(1),
                Value::float(1.0)
            ])))
        );
        assert_eq!(
            said(call("without", &[pairs, ints(&[1]), Value::int64(1)])),
            said(Ok(Value::list(vec![Value::int(1), Value::float(1.0)])))
        );
    }
}
