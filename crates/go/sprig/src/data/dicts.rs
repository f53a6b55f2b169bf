//! Dictionaries: `map[string]interface {}`. Changes are visible in all clones.

use crate::text::strval::strval;
use bumpwright_template::{
    ANY, Args, BOOL, DICT, Failure, Function, Host, LIST, LIST_BYTES, Map, STRING, STRINGS, Text, Value,
};
use std::collections::HashSet;

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("dict", &[&ANY], &DICT, dict).variadic(),
    Function::new("get", &[&DICT, &STRING], &ANY, get),
    Function::new("set", &[&DICT, &STRING, &ANY], &DICT, set),
    Function::new("unset", &[&DICT, &STRING], &DICT, unset),
    Function::new("hasKey", &[&DICT, &STRING], &BOOL, has_key),
    Function::new("pluck", &[&STRING, &DICT], &LIST, pluck).variadic(),
    Function::new("dig", &[&ANY], &ANY, dig).variadic(),
    Function::new("keys", &[&DICT], &STRINGS, keys).variadic(),
    Function::new("values", &[&DICT], &LIST, values),
    Function::new("pick", &[&DICT, &STRING], &DICT, pick).variadic(),
    Function::new("omit", &[&DICT, &STRING], &DICT, omit).variadic(),
];

type Outcome = Result<Value, Failure>;

/// Go's panic for an assignment to a nil map.
pub(crate) fn nil_map() -> Failure {
    Failure::new("assignment to entry in nil map")
}

fn dict(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    host.produce(Map::bytes(args.len().div_ceil(2)))?;
    let mut entries = Vec::new();
    for pair in args.0.chunks(2) {
        let mut pair = pair.iter();
        let key = strval(host, pair.next().unwrap_or(&Value::Nil))?;
        entries.push((key, pair.next().cloned().unwrap_or_else(|| "".into())));
    }
    Ok(Value::dict(entries))
}

fn get(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    Ok(args.map(0)?.get(args.value(1)?).unwrap_or_else(|| "".into()))
}

fn set(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    args.map(0)?.count_entry(host)?;
    if !args.map(0)?.insert(args.value(1)?.clone(), args.value(2)?.clone()) {
        return Err(nil_map());
    }
    args.value(0).cloned()
}

fn unset(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    args.map(0)?.remove(args.value(1)?);
    args.value(0).cloned()
}

fn has_key(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    Ok(args.map(0)?.get(args.value(1)?).is_some().into())
}

fn pluck(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let key = args.value(0)?;
    host.produce(LIST_BYTES.saturating_add(args.len().saturating_mul(size_of::<Value>())))?;
    let mut values = Vec::new();
    for index in 1..args.len() {
        host.read(key)?;
        values.extend(args.map(index)?.get(key));
    }
    Ok(Value::list(values))
}

/// The value at a path of keys through dictionaries in the last argument, or the last but one when a key is missing.
fn dig(_: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let [path @ .., default, start] = args.0 else {
        return Err(too_few());
    };
    if path.is_empty() {
        return Err(too_few());
    }
    let is_dict = |value: &Value| value.type_of() == Some(DICT);
    if !is_dict(start) {
        return Err(conversion(start, "map[string]interface {}"));
    }
    if let Some(key) = path.iter().find(|key| !matches!(key, Value::String(_))) {
        return Err(conversion(key, "string"));
    }
    let mut here = start.clone();
    for key in path {
        let next = match &here {
            Value::Map(map) if is_dict(&here) => map.get(key),
            other => return Err(conversion(other, "map[string]interface {}")),
        };
        match next {
            Some(next) => here = next,
            None => return Ok(default.clone()),
        }
    }
    Ok(here)
}

fn too_few() -> Failure {
    Failure::new("dig needs at least three arguments")
}

/// Go's error for a failed type assertion.
fn conversion(value: &Value, expected: &str) -> Failure {
    let actual = value.type_of().map_or_else(|| "nil".to_owned(), |of| of.to_string());
    Failure::new(format!(
        "interface conversion: interface {{}} is {actual}, not {expected}"
    ))
}

/// All keys, those of the first dictionary first. Go's order within one is random, ours is sorted.
fn keys(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let mut keys: Vec<Text> = Vec::new();
    for index in 0..args.len() {
        let map = args.map(index)?;
        for (key, _) in map.counted_entries(host)?.iter() {
            if let Value::String(key) = key {
                keys.push(key.clone());
            }
        }
    }
    Ok(Value::strings(keys))
}

fn values(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let map = args.map(0)?;
    let entries = map.counted_entries(host)?;
    Ok(Value::list(entries.iter().map(|(_, value)| value.clone()).collect()))
}

fn pick(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let map = args.map(0)?;
    host.produce(Map::bytes(args.len() - 1))?;
    let mut picked = Vec::new();
    for index in 1..args.len() {
        let value = map.get(args.value(index)?);
        picked.extend(args.text(index).ok().zip(value));
    }
    Ok(Value::dict(picked))
}

fn omit(host: &mut Host<'_>, args: Args<'_>) -> Outcome {
    let map = args.map(0)?;
    host.produce(Map::bytes(map.len()))?;
    let omitted = (1..args.len()).map(|index| args.text(index));
    let omitted: HashSet<&Text> = omitted.collect::<Result<_, _>>()?;
    let entries = map.counted_entries(host)?;
    let remaining = entries.iter().filter_map(|(key, value)| match key {
        Value::String(key) if !omitted.contains(key) => Some((key, value.clone())),
        _ => None,
    });
    Ok(Value::dict(remaining))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;

    fn said(result: Outcome) -> String {
        match result {
            Ok(value) => format!("{value:?}"),
            Err(failure) => failure.text().to_owned(),
        }
    }

    #[test]
    fn paths_are_dug_through_dictionaries_only() {
        let inner = Value::dict([("b", Value::int(1))]);
        let dict = Value::dict([("a", inner), ("s", "text".into())]);
        let missing = Value::int(7);
        for (path, expected) in [
            (vec!["a", "b"], "Int(Int, 1)"),
            (vec!["a", "c"], "Int(Int, 7)"),
            (vec!["x", "y"], "Int(Int, 7)"),
            (
                vec!["s", "t"],
                "interface conversion: interface {} is string, not map[string]interface {}",
            ),
            (vec![], "dig needs at least three arguments"),
        ] {
            let mut arguments: Vec<Value> = path.iter().copied().map(Value::from).collect();
            arguments.extend([missing.clone(), dict.clone()]);
            assert_eq!(said(call("dig", &arguments)), expected, "{path:?}");
        }
        let nil = call("dig", &["a".into(), missing.clone(), Value::Nil]);
        let text = "interface conversion: interface {} is nil, not map[string]interface {}";
        assert_eq!(said(nil), text);
        let number = call("dig", &[Value::int(1), missing, dict]);
        assert_eq!(said(number), "interface conversion: interface {} is int, not string");
    }

    #[test]
    fn changes_are_seen_by_all_holders() {
        let dict = Value::dict([("a", Value::int(1))]);
        let held = Value::list(vec![dict.clone()]);
        call("set", &[dict.clone(), "b".into(), Value::Nil]).unwrap();
        call("unset", &[dict, "a".into()]).unwrap();
        let expected = Value::list(vec![Value::dict([("b", Value::Nil)])]);
        assert_eq!(format!("{held:?}"), format!("{expected:?}"));
    }

    #[test]
    fn a_nil_map_can_be_read_only() {
        let nil = Value::zero(&DICT);
        assert_eq!(said(call("get", &[nil.clone(), "a".into()])), r#"String("")"#);
        assert_eq!(
            said(call("omit", std::slice::from_ref(&nil))),
            said(Ok(Value::dict::<&str>([])))
        );
        call("unset", &[nil.clone(), "a".into()]).unwrap();
        let set = call("set", &[nil, "a".into(), Value::int(1)]);
        assert_eq!(said(set), "assignment to entry in nil map");
    }

    #[test]
    fn parts_are_taken_by_key() {
        let one = || Value::dict([("b", Value::Nil), ("a", Value::int(1))]);
        let two = || Value::dict([("a", Value::int(2))]);
        for (name, arguments, expected) in [
            ("keys", vec![one(), two()], Value::strings(["a", "b", "a"])),
            ("values", vec![one()], Value::list(vec![Value::int(1), Value::Nil])),
            ("pluck", vec!["b".into(), one(), two()], Value::list(vec![Value::Nil])),
            (
                "pick",
                vec![one(), "b".into(), "x".into()],
                Value::dict([("b", Value::Nil)]),
            ),
            (
                "omit",
                vec![one(), "b".into(), "x".into()],
                Value::dict([("a", Value::int(1))]),
            ),
            (
                "dict",
                vec!["k".into(), "v".into(), "odd".into()],
                Value::dict([("k", "v".into()), ("odd", "".into())]),
            ),
        ] {
            assert_eq!(said(call(name, &arguments)), said(Ok(expected)), "{name}");
        }
    }
}
