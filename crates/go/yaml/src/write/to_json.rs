//! Converts nodes to JSON values, with the numbers that a client of Kubernetes' API has.

use super::value::{Leaf, WriteError, check_twice, json_float, leaf, members};
use crate::node::{Node, Value};
use crate::place::Place;
use serde_json::{Map, Number, Value as Json};

/// The most collections inside of each other: serde_json reads no more from an API server either.
const MAX_DEPTH: usize = 127;

/// The value of a node as Flux and `kubectl` read it: through the JSON of encoding/json, with numbers as `int64` where
/// they fit, else as `float64`. What is not exact in a float becomes the nearest one, so `12345678901234567890` is
/// `12345678901234567000`; the value is the same that an API server gives back for it.
///
/// # Errors
/// As [`crate::write_json`], and for more than 127 collections inside of each other.
pub fn json_of_node(node: &Node) -> Result<Json, WriteError> {
    value(node, Position::default())
}

/// The position of a node.
#[derive(Clone, Copy, Default)]
struct Position {
    depth: usize,
    /// Inside of `{}` or `[]`.
    flow: bool,
}

impl Position {
    fn below(self, flow: bool, place: Place) -> Result<Self, WriteError> {
        if self.depth < MAX_DEPTH {
            return Ok(Self {
                depth: self.depth + 1,
                flow: self.flow || flow,
            });
        }
        let problem = format!("lists and mappings nest more than {MAX_DEPTH} levels deep; make the object flatter");
        Err(WriteError::new(place, problem, "json: exceeded max depth"))
    }
}

fn value(node: &Node, at: Position) -> Result<Json, WriteError> {
    match &node.value {
        Value::Scalar(scalar) => leaf(scalar, node.place, at.flow).map(of_leaf),
        Value::Sequence(sequence) => {
            let inside = at.below(sequence.flow, node.place)?;
            let items = sequence.items.iter().map(|item| value(item, inside));
            items.collect::<Result<_, _>>().map(Json::Array)
        }
        Value::Mapping(mapping) => {
            let inside = at.below(mapping.flow, node.place)?;
            let mut members = members(mapping, at.depth == 0, inside.flow)?;
            members.sort_by_key(|(key, _)| *key);
            check_twice(&members)?;
            let pairs = members
                .into_iter()
                .map(|(key, entry)| Ok((key.to_owned(), value(&entry.value, inside)?)));
            pairs.collect::<Result<Map<_, _>, _>>().map(Json::Object)
        }
    }
}

fn of_leaf(leaf: Leaf<'_>) -> Json {
    match leaf {
        Leaf::Null => Json::Null,
        Leaf::Bool(value) => Json::Bool(value),
        Leaf::Int(number) => Json::Number(number.into()),
        #[allow(clippy::cast_precision_loss)] // so does Go
        Leaf::Uint(number) => float(number as f64),
        Leaf::Float(number) => float(number),
        Leaf::Text(text) => Json::String(text.into_owned()),
        Leaf::Bytes(bytes) => Json::String(bumpwright_gostd::lossy(&bytes).into_owned()),
    }
}

/// A float once its spelling in JSON was read again: whole numbers are integers, and negative zero is zero.
fn float(number: f64) -> Json {
    let spelled = json_float(number);
    let signed = spelled.parse::<i64>().map(Number::from);
    // Above `int64` stays a float in Go; this is how serde_json reads its spelling.
    let whole = signed.or_else(|_| spelled.parse::<u64>().map(Number::from));
    whole.map_or_else(|_| Json::from(number), Json::Number)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{FileId, ReadOptions, read_first};

    fn read(text: &str) -> Result<Json, WriteError> {
        json_of_node(
            &read_first(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE))
                .unwrap()
                .unwrap(),
        )
    }

    /// What `flux build` prints of them, as JSON.
    #[test]
    fn numbers_are_int64_or_float64() {
        for (text, expected) in [
            ("1", "1"),
            ("0x1F", "31"),
            ("017", "15"),
            ("1_000", "1000"),
            ("1e3", "1000"),
            ("5.0", "5"),
            (".5", "0.5"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9223372036854776000"),
            ("12345678901234567890", "12345678901234567000"),
            ("0.10353709371032427", "0.10353709371032427"),
            ("1.10", "1.1"),
            ("4.951163595552555e-10", "4.951163595552555e-10"),
            ("'0x1F'", "\"0x1F\""),
            ("1e999", "\"1e999\""),
        ] {
            let value = read(&format!("a: {text}\n")).unwrap();
            assert_eq!(value.get("a").unwrap().to_string(), expected, "{text}");
        }
        for (text, expected) in [
            ("922719119.0e12", 9.22719119e20),
            ("-9223372036854775809", -9_223_372_036_854_775_808.0),
            ("123456789012345678901", 1.2345678901234568e20),
        ] {
            assert_eq!(
                read(&format!("a: {text}\n")).unwrap(),
                serde_json::json!({ "a": expected }),
                "{text}"
            );
        }
    }

    #[test]
    fn all_other_values_are_those_of_the_json() {
        let text = "b: [null, true, {c: x}]\na: |\n  two\n  lines\nd: 2020-01-01\ne: !!binary aGk=\n";
        let expected = serde_json::json!({
            "a": "two\nlines\n", "b": [null, true, {"c": "x"}], "d": "2020-01-01T00:00:00Z", "e": "hi",
        });
        assert_eq!(read(text).unwrap(), expected);
        let error = read("a: {x: 1}\nb:\n  c: .nan\n").unwrap_err();
        assert_eq!((error.go(), error.place.line), ("json: unsupported value: NaN", 3));
        assert!(read("b: {1: x}\n").is_err());
    }

    /// serde_json would not read it back from an API server.
    #[test]
    fn what_nests_too_deep_has_a_place() {
        let nested = |depth: usize| read(&format!("{}{}\n", "[".repeat(depth), "]".repeat(depth)));
        assert!(nested(MAX_DEPTH).is_ok());
        let error = nested(MAX_DEPTH + 1).unwrap_err();
        assert_eq!((error.place.line, error.place.column), (1, 128));
        let read: Result<Json, _> = serde_json::from_str(&nested(MAX_DEPTH).unwrap().to_string());
        assert!(read.is_ok());
    }
}
