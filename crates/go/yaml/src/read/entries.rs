//! The entries of a mapping: merge keys resolved as the libraries do, duplicates found, keys converted
//! to strings for v2.

use std::collections::HashMap;

use compact_str::{CompactString, ToCompactString};

use super::error::ReadError;
use super::node_count::NodeCount;
use super::options::{Dialect, Duplicates, ReadOptions};
use super::resolve::{Resolved, decode};
use crate::node::{Entry, Node, Scalar, Style, Tag, Value};
use crate::place::Place;
use crate::write::go_syntax::go_syntax;
use bumpwright_gostd::format_float;

/// A key and a value as written.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) key: Scalar,
    pub(crate) place: Place,
    pub(crate) value: Node,
    pub(crate) weight: usize,
    /// Whether the value was an alias.
    pub(crate) alias: bool,
}

/// Mappings with up to this many entries are searched linearly, larger ones get an index.
const FEW: usize = 12;

/// The entries of some pairs, and how many nodes merge keys have copied into them.
pub(crate) fn mapping_of(
    pairs: Vec<Pair>,
    options: &ReadOptions,
    spent: &mut NodeCount,
) -> Result<(Vec<Entry>, usize), ReadError> {
    match options.dialect {
        Dialect::V2 => read_v2(pairs, options, spent),
        Dialect::V3 => read_v3(pairs, options, spent),
    }
}

/// Entries with an index by key.
struct Entries {
    list: Vec<Entry>,
    index: HashMap<CompactString, usize>,
}

impl Entries {
    fn with_capacity(count: usize) -> Self {
        Self {
            list: Vec::with_capacity(count),
            index: HashMap::new(),
        }
    }

    fn find(&mut self, key: &str) -> Option<usize> {
        if self.list.len() <= FEW {
            return self.list.iter().position(|entry| entry.key.text == key);
        }
        // Duplicate keys are found at their first position.
        for at in self.index.len()..self.list.len() {
            if let Some(entry) = self.list.get(at) {
                self.index.entry(entry.key.text.clone()).or_insert(at);
            }
        }
        self.index.get(key).copied()
    }

    /// Replaces the entry with its key, or appends it.
    fn set(&mut self, entry: Entry) {
        let at = self.find(&entry.key.text);
        match at.and_then(|at| self.list.get_mut(at)) {
            Some(old) => *old = entry,
            None => self.list.push(entry),
        }
    }
}

/// As kyaml's `DeAnchor`: own entries first and in their order, then those of the merged mappings, of which the first
/// takes precedence. One merge key is allowed.
fn read_v3(pairs: Vec<Pair>, options: &ReadOptions, spent: &mut NodeCount) -> Result<(Vec<Entry>, usize), ReadError> {
    let mut entries = Entries::with_capacity(pairs.len());
    let pairs = without_quoted_merge(pairs);
    let mut merge = None;
    for mut pair in pairs {
        if pair.key.tag == Tag::Merge {
            if merge.is_some() {
                return Err(ReadError::kyaml(pair.place, "duplicate merge key"));
            }
            if is_merge(&pair.key) {
                merge = Some(pair);
                continue;
            }
            // Another key with the tag merges, and stays.
            merge = Some(pair.clone());
            pair.key.tag = Tag::Str;
        }
        if pair.key.tag == Tag::Null && !pair.key.text.is_empty() {
            return Err(null_key(&pair));
        }
        let earlier = match options.duplicates {
            Duplicates::Keep => None,
            _ => entries.find(&pair.key.text),
        };
        if let Some(earlier) = earlier.and_then(|at| entries.list.get(at)) {
            if options.duplicates == Duplicates::Refuse {
                return Err(duplicate_v3(&pair, earlier));
            }
            entries.set(entry(pair));
            continue;
        }
        entries.list.push(entry(pair));
    }
    let Some(merge) = merge else {
        return Ok((entries.list, 0));
    };
    let (own, copied) = (entries.list.len(), merge.weight);
    spent.copy(copied, merge.place)?;
    for source in merged_v3(merge)?.into_iter().rev() {
        for entry in source {
            match entries.find(&entry.key.text) {
                Some(at) if at < own => {}
                _ => entries.set(entry),
            }
        }
    }
    Ok((entries.list, copied))
}

fn is_merge(key: &Scalar) -> bool {
    key.tag == Tag::Merge && key.text == "<<"
}

/// kyaml removes the first `<<` even where it is a string, and merges nothing.
fn without_quoted_merge(mut pairs: Vec<Pair>) -> Vec<Pair> {
    let first = pairs.iter().position(|pair| pair.key.text == "<<");
    let merges = pairs.iter().any(|pair| is_merge(&pair.key));
    if let Some(first) = first.filter(|_| !merges) {
        pairs.remove(first);
    }
    pairs
}

/// kyaml's copying doubles a key that is spelled null, and then finds it twice.
fn null_key(pair: &Pair) -> ReadError {
    let key = bumpwright_gostd::quote(&pair.key.text);
    let line = pair.place.line;
    let go = format!("yaml: unmarshal errors:\n  line {line}: mapping key {key} already defined at line {line}");
    ReadError::new(pair.place, "null cannot be a key", go)
}

fn entry(pair: Pair) -> Entry {
    Entry {
        key: pair.key,
        place: pair.place,
        value: pair.value,
    }
}

fn duplicate_v3(pair: &Pair, known: &Entry) -> ReadError {
    let key = bumpwright_gostd::quote(&pair.key.text);
    let problem = format!("mapping key {key} already defined at line {}", known.place.line);
    let go = format!("yaml: unmarshal errors:\n  line {}: {problem}", pair.place.line);
    ReadError::new(pair.place, problem, go)
}

/// The entries of the mappings of a merge key, in the order of the text.
fn merged_v3(merge: Pair) -> Result<Vec<Vec<Entry>>, ReadError> {
    let place = merge.value.place;
    let wrong = |place, text| Err(ReadError::kyaml(place, text));
    match merge.value.value {
        Value::Mapping(mapping) => Ok(vec![mapping.entries]),
        _ if merge.alias => wrong(place, "invalid map merge: received alias for a non-map value"),
        Value::Sequence(sequence) => {
            let mut sources = Vec::with_capacity(sequence.items.len());
            for item in sequence.items {
                match item.value {
                    Value::Mapping(mapping) => sources.push(mapping.entries),
                    Value::Sequence(_) => return wrong(item.place, "invalid map merge: received a nested sequence"),
                    Value::Scalar(_) => {
                        return wrong(item.place, "map merge requires map or sequence of maps as the value");
                    }
                }
            }
            Ok(sources)
        }
        Value::Scalar(_) => wrong(place, "map merge requires map or sequence of maps as the value"),
    }
}

/// As go-yaml v2: a merge key sets its entries at its position, so later entries win. Another key with the
/// tag is a text.
fn read_v2(pairs: Vec<Pair>, options: &ReadOptions, spent: &mut NodeCount) -> Result<(Vec<Entry>, usize), ReadError> {
    let mut entries = Entries::with_capacity(pairs.len());
    let mut copied = 0;
    for mut pair in pairs {
        if is_merge(&pair.key) {
            spent.copy(pair.weight, pair.place)?;
            copied += pair.weight;
            for entry in merged_v2(pair)? {
                set_v2(&mut entries, entry, options)?;
            }
            continue;
        }
        let shown = |error: ReadError| error.showing(format!(", value: {}", go_syntax(&pair.value.value)));
        pair.key = key_v2(pair.key, pair.place).map_err(shown)?;
        normalize_v2(&mut pair.value)?;
        set_v2(&mut entries, entry(pair), options)?;
    }
    Ok((entries.list, copied))
}

fn set_v2(entries: &mut Entries, entry: Entry, options: &ReadOptions) -> Result<(), ReadError> {
    let earlier = match options.duplicates {
        Duplicates::Keep => None,
        _ => entries.find(&entry.key.text),
    };
    if earlier.is_some() && options.duplicates == Duplicates::Refuse {
        let key = bumpwright_gostd::quote(&entry.key.text);
        let problem = format!("key {key} already set in map");
        let go = format!("yaml: unmarshal errors:\n  line {}: {problem}", entry.value.place.line);
        return Err(ReadError::new(entry.place, problem, go));
    }
    match earlier {
        Some(_) => entries.set(entry),
        None => entries.list.push(entry),
    }
    Ok(())
}

fn merged_v2(merge: Pair) -> Result<Vec<Entry>, ReadError> {
    let place = merge.value.place;
    let wrong = |place| ReadError::yaml(place, "map merge requires map or sequence of maps as the value");
    match merge.value.value {
        Value::Mapping(mapping) => Ok(mapping.entries),
        Value::Sequence(sequence) if !merge.alias => {
            let mut entries = Vec::new();
            for item in sequence.items.into_iter().rev() {
                match item.value {
                    Value::Mapping(mapping) => entries.extend(mapping.entries),
                    _ => return Err(wrong(item.place)),
                }
            }
            Ok(entries)
        }
        _ => Err(wrong(place)),
    }
}

/// The string that a key is converted to in JSON.
fn key_v2(key: Scalar, place: Place) -> Result<Scalar, ReadError> {
    let text = match decode(&key, Dialect::V2).map_err(|error| ReadError::yaml(place, error.to_string()))? {
        Resolved::Bool(value) => value.to_compact_string(),
        Resolved::Int(number) => number.to_compact_string(),
        Resolved::Float(number) => float_key(number),
        Resolved::Bytes(bytes) => String::from_utf8_lossy(&bytes).into(),
        Resolved::Text(_) | Resolved::Timestamp(_) => {
            return Ok(Scalar { tag: Tag::Str, ..key });
        }
        Resolved::Null => return Err(unsupported_key("%!s(<nil>), key: <nil>", place)),
        Resolved::Uint(number) => {
            return Err(unsupported_key(&format!("uint64, key: 0x{number:x}"), place));
        }
    };
    Ok(Scalar {
        text,
        tag: Tag::Str,
        style: Style::Plain,
    })
}

fn unsupported_key(key: &str, place: Place) -> ReadError {
    ReadError::new(
        place,
        "this key is not a string, and JSON has no other keys",
        format!("unsupported map key of type: {key}"),
    )
}

fn float_key(number: f64) -> CompactString {
    // The precision of sigs.k8s.io/yaml; larger numbers are infinite.
    let spelled = format_float(number, b'g', None, 32);
    match spelled.as_str() {
        "+Inf" => ".inf",
        "-Inf" => "-.inf",
        "NaN" => ".nan",
        spelled => spelled,
    }
    .into()
}

/// Scalars after v2 and JSON: dates are strings, booleans and integers have one spelling.
pub(crate) fn normalize_v2(node: &mut Node) -> Result<(), ReadError> {
    let place = node.place;
    let scalar = match &mut node.value {
        Value::Scalar(scalar) => scalar,
        Value::Sequence(sequence) => return sequence.items.iter_mut().try_for_each(normalize_v2),
        // Its entries were converted when it ended.
        Value::Mapping(_) => return Ok(()),
    };
    // JSON keeps no style; the quotes mark a multi-line text that is not to be printed and read again.
    scalar.style = if scalar.text.contains('\n') {
        Style::Double
    } else {
        Style::Plain
    };
    let value = decode(scalar, Dialect::V2).map_err(|error| ReadError::yaml(place, error.to_string()))?;
    let (text, tag) = match value {
        Resolved::Bool(value) => (value.to_compact_string(), Tag::Bool),
        Resolved::Int(number) => (number.to_compact_string(), Tag::Int),
        Resolved::Uint(number) => (number.to_compact_string(), Tag::Int),
        Resolved::Null => (CompactString::const_new("null"), Tag::Null),
        Resolved::Bytes(bytes) => (String::from_utf8_lossy(&bytes).into(), Tag::Str),
        Resolved::Float(_) => {
            scalar.tag = Tag::Float;
            return Ok(());
        }
        Resolved::Timestamp(_) | Resolved::Text(_) => {
            scalar.tag = Tag::Str;
            return Ok(());
        }
    };
    (scalar.text, scalar.tag) = (text, tag);
    Ok(())
}
