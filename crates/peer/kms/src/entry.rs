//! The fields of a Secret's entry, parsed as by sigs.k8s.io/yaml into a struct of Go: names in any case, numbers and
//! booleans as texts in text fields.

use std::fmt;

use bumpwright_gostd::format_float;
use bumpwright_secret::Secret;
use bumpwright_yaml::{Dialect, FileId, Node, ReadOptions, Resolved, Value, decode, read_first};
use thiserror::Error;

/// Why an entry cannot be read, in the words of sigs.k8s.io/yaml but for what it quotes: the entry is secret.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum FieldsError {
    #[error("error converting YAML to JSON: it is not YAML (line {line}, column {column})")]
    Syntax { line: u32, column: u32 },
    /// A number that JSON does not have.
    #[error("error converting YAML to JSON: json: unsupported value: {}", format_float(*.0, b'g', None, 64))]
    Number(f64),
    /// It is not a mapping.
    #[error("error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type {of}")]
    NoMapping {
        kind: &'static str,
        /// Go's struct.
        of: &'static str,
    },
    /// A field has another type.
    #[error(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go struct field {of}.{name} of type \
         {wanted}"
    )]
    Type {
        kind: &'static str,
        /// Go's struct; an anonymous one has a type and no name.
        of: &'static str,
        name: String,
        wanted: &'static str,
    },
}

/// The fields, with the name of Go's struct for errors.
pub(super) struct Fields {
    of: &'static str,
    /// Sorted by name as in Go's JSON: the last match counts.
    entries: Vec<(String, Node)>,
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.entries.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Fields {
    /// Parses the fields; an empty text has none. `texts` are the names of text fields.
    ///
    /// # Errors
    /// A text without any of the entry, which is secret, when it is not a mapping.
    pub(super) fn read(text: &[u8], of: &'static str, texts: &[&str]) -> Result<Self, FieldsError> {
        // Go's own message may quote the text.
        let document = read_first(text, &ReadOptions::sigs(FileId::default()));
        let document = document.map_err(|error| FieldsError::Syntax {
            line: error.place.line,
            column: error.place.column,
        })?;
        let mut entries: Vec<(String, Node)> = match document.map(|node| node.value) {
            None => Vec::new(),
            Some(Value::Mapping(mapping)) => {
                let named = |entry: bumpwright_yaml::Entry| (entry.key.text.to_string(), entry.value);
                mapping.entries.into_iter().map(named).collect()
            }
            Some(value) if kind(&value) == "null" => Vec::new(),
            Some(value) => {
                let kind = kind(&value);
                return Err(FieldsError::NoMapping { kind, of });
            }
        };
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        let is_text = |name: &str| texts.iter().any(|text| text.eq_ignore_ascii_case(name));
        let others = entries
            .iter()
            .filter(|(name, node)| !(is_text(name) && matches!(node.value, Value::Scalar(_))));
        match others.filter_map(|(_, node)| unsupported(&node.value)).next() {
            Some(number) => Err(FieldsError::Number(number)),
            None => Ok(Self { of, entries }),
        }
    }

    /// The values of a field, the effective one last.
    fn values(&self, name: &str) -> impl Iterator<Item = &Value> {
        let fits = move |(other, _): &&(String, Node)| other.eq_ignore_ascii_case(name);
        let values = self.entries.iter().filter(fits).map(|(_, node)| &node.value);
        values.filter(|value| kind(value) != "null")
    }

    /// A text; none when it is missing, null or empty.
    ///
    /// # Errors
    /// In Go's words, without the value, for a collection.
    pub(super) fn text(&self, name: &str) -> Result<Option<Secret>, FieldsError> {
        let read = |value| text(value).ok_or_else(|| self.unfit(name, value, "string"));
        let read = self.values(name).map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(read.into_iter().next_back().filter(|text| !text.is_empty()))
    }

    /// A boolean; false when it is missing or null.
    ///
    /// # Errors
    /// In Go's words, without the value, for anything else.
    pub(super) fn truth(&self, name: &str) -> Result<bool, FieldsError> {
        let read = |value| match scalar(value) {
            Some(Resolved::Bool(truth)) => Ok(truth),
            _ => Err(self.unfit(name, value, "bool")),
        };
        let read = self.values(name).map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(read.last() == Some(&true))
    }

    fn unfit(&self, name: &str, value: &Value, wanted: &'static str) -> FieldsError {
        FieldsError::Type {
            kind: kind(value),
            of: if self.of.starts_with("struct") { "" } else { self.of },
            name: name.to_owned(),
            wanted,
        }
    }
}

/// A scalar as a text.
fn text(value: &Value) -> Option<Secret> {
    Some(match scalar(value)? {
        Resolved::Text(text) => Secret::new(text),
        Resolved::Int(number) => Secret::new(number.to_string()),
        Resolved::Uint(number) => Secret::new(number.to_string()),
        Resolved::Float(number) => Secret::new(format_float(number, b'g', None, 64)),
        Resolved::Bool(truth) => Secret::new(truth.to_string()),
        Resolved::Timestamp(time) => Secret::new(time),
        Resolved::Bytes(bytes) => Secret::new(String::from_utf8(bytes).ok()?),
        Resolved::Null => return None,
    })
}

/// A number that JSON cannot represent.
fn unsupported(value: &Value) -> Option<f64> {
    match value {
        Value::Mapping(mapping) => mapping.entries.iter().find_map(|entry| unsupported(&entry.value.value)),
        Value::Sequence(sequence) => sequence.items.iter().find_map(|item| unsupported(&item.value)),
        Value::Scalar(_) => match scalar(value) {
            Some(Resolved::Float(number)) if !number.is_finite() => Some(number),
            _ => None,
        },
    }
}

fn scalar(value: &Value) -> Option<Resolved<'_>> {
    match value {
        Value::Scalar(scalar) => decode(scalar, Dialect::V2).ok(),
        _ => None,
    }
}

/// Go's JSON name of a value's kind.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Mapping(_) => "object",
        Value::Sequence(_) => "array",
        Value::Scalar(_) => match scalar(value) {
            Some(Resolved::Null) => "null",
            Some(Resolved::Bool(_)) => "bool",
            Some(Resolved::Int(_) | Resolved::Uint(_) | Resolved::Float(_)) => "number",
            _ => "string",
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(document: &str, name: &str) -> Result<Option<String>, FieldsError> {
        let text = Fields::read(document.as_bytes(), "AADConfig", &["clientId"])?.text(name)?;
        Ok(text.map(|text| text.expose().to_owned()))
    }

    #[test]
    fn texts_as_go_reads_them() {
        for (document, expected) in [
            ("clientId: a", Some("a")),
            ("{\"clientId\": \"a\", \"x\": [1]}", Some("a")),
            ("CLIENTID: a", Some("a")),
            ("clientId: a\nClientId: b\nCLIENTID: c", Some("a")),
            ("clientId: 1234567890", Some("1234567890")),
            ("clientId: 010", Some("8")),
            ("clientId: 1e10", Some("1e+10")),
            ("clientId: yes", Some("true")),
            ("clientId: '010'", Some("010")),
            ("clientId: 2020-01-01", Some("2020-01-01")),
            ("clientId: |\n  a\n  b\n", Some("a\nb\n")),
            ("clientId: ~", None),
            ("clientId: ''", None),
            ("", None),
            ("null", None),
            ("other: a", None),
        ] {
            assert_eq!(
                text(document, "clientId"),
                Ok(expected.map(str::to_owned)),
                "{document}"
            );
        }
    }

    #[test]
    fn errors_do_not_quote() {
        for (document, said) in [
            (
                "hunter2",
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type AADConfig",
            ),
            (
                "clientId: [hunter2]",
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field AADConfig.clientId of \
                 type string",
            ),
            ("clientId: *hunter2", "error converting YAML to JSON: it is not YAML"),
            ("hunter2: {", "error converting YAML to JSON: it is not YAML"),
        ] {
            let got = text(document, "clientId").unwrap_err().to_string();
            assert!(got.starts_with(said) && !got.contains("hunter2"), "{got}");
        }
        let flag = |document: &str| {
            Fields::read(document.as_bytes(), "AADConfig", &[])
                .unwrap()
                .truth("chain")
        };
        assert_eq!(
            (flag("chain: on"), flag("chain: false"), flag("")),
            (Ok(true), Ok(false), Ok(false))
        );
        assert!(
            flag("chain: 'true'")
                .unwrap_err()
                .to_string()
                .ends_with("AADConfig.chain of type bool")
        );
    }
}
