//! The fields of a Secret's entry, as sigs.k8s.io/yaml reads YAML and JSON into a struct of Go: names in any case, numbers and
//! truth values as texts where texts are wanted.

use std::fmt;

use crate::gostd::format_float;
use crate::net::Secret;
use crate::yaml::{Dialect, FileId, Node, ReadOptions, Resolved, Value, decode, read_first};

/// The fields, with the name of the struct that they belong to, which Go's errors name.
pub(super) struct Fields {
    of: &'static str,
    /// Sorted by name as Go's JSON has them: the last one that fits counts.
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
    /// An empty text has no fields.
    ///
    /// # Errors
    /// In words without any of the text, which is secret, when it is no mapping.
    pub(super) fn read(text: &[u8], of: &'static str) -> Result<Self, String> {
        // Go's own sentence may quote the text.
        let document = read_first(text, &ReadOptions::sigs(FileId::default())).map_err(|e| {
            let (line, column) = (e.place.line, e.place.column);
            format!("error converting YAML to JSON: it is no YAML (line {line}, column {column})")
        })?;
        let mut entries: Vec<(String, Node)> = match document.map(|node| node.value) {
            None => Vec::new(),
            Some(Value::Mapping(mapping)) => {
                let named = |entry: crate::yaml::Entry| (entry.key.text.to_string(), entry.value);
                mapping.entries.into_iter().map(named).collect()
            }
            Some(value) if kind(&value) == "null" => Vec::new(),
            Some(value) => {
                let kind = kind(&value);
                return Err(format!("json: cannot unmarshal {kind} into Go value of type {of}"));
            }
        };
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Self { of, entries })
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let fits = |(other, _): &&(String, Node)| other.eq_ignore_ascii_case(name);
        let mut fitting = self.entries.iter().rev().filter(fits).map(|(_, node)| &node.value);
        fitting.find(|value| kind(value) != "null")
    }

    /// A text; none when it is missing, null or empty.
    ///
    /// # Errors
    /// In Go's words, without the value, for a collection.
    pub(super) fn text(&self, name: &str) -> Result<Option<Secret>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = scalar(value).and_then(|resolved| match resolved {
            Resolved::Text(text) => Some(Secret::new(text)),
            Resolved::Int(number) => Some(Secret::new(number.to_string())),
            Resolved::Uint(number) => Some(Secret::new(number.to_string())),
            Resolved::Float(number) => Some(Secret::new(format_float(number, b'g', None, 64))),
            Resolved::Bool(truth) => Some(Secret::new(truth.to_string())),
            Resolved::Timestamp(time) => Some(Secret::new(time)),
            Resolved::Bytes(bytes) => String::from_utf8(bytes).ok().map(Secret::new),
            Resolved::Null => None,
        });
        let text = text.ok_or_else(|| self.unfit(name, value, "string"))?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    /// A truth value; false when it is missing or null.
    ///
    /// # Errors
    /// In Go's words, without the value, for anything else.
    pub(super) fn truth(&self, name: &str) -> Result<bool, String> {
        let Some(value) = self.get(name) else { return Ok(false) };
        match scalar(value) {
            Some(Resolved::Bool(truth)) => Ok(truth),
            _ => Err(self.unfit(name, value, "bool")),
        }
    }

    fn unfit(&self, name: &str, value: &Value, wanted: &str) -> String {
        // A struct without a name has a type and no name in Go.
        let of = Some(self.of).filter(|of| !of.starts_with("struct")).unwrap_or_default();
        let kind = kind(value);
        format!("json: cannot unmarshal {kind} into Go struct field {of}.{name} of type {wanted}")
    }
}

fn scalar(value: &Value) -> Option<Resolved<'_>> {
    match value {
        Value::Scalar(scalar) => decode(scalar, Dialect::V2).ok(),
        _ => None,
    }
}

/// What Go's JSON calls a value.
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

    fn text(document: &str, name: &str) -> Result<Option<String>, String> {
        let text = Fields::read(document.as_bytes(), "AADConfig")?.text(name)?;
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
                "json: cannot unmarshal string into Go value of type AADConfig",
            ),
            (
                "clientId: [hunter2]",
                "json: cannot unmarshal array into Go struct field AADConfig.clientId of type string",
            ),
            ("clientId: *hunter2", "error converting YAML to JSON: it is no YAML"),
            ("hunter2: {", "error converting YAML to JSON: it is no YAML"),
        ] {
            let got = text(document, "clientId").unwrap_err();
            assert!(got.starts_with(said) && !got.contains("hunter2"), "{got}");
        }
        let flag = |document: &str| Fields::read(document.as_bytes(), "AADConfig").unwrap().truth("chain");
        assert_eq!(
            (flag("chain: on"), flag("chain: false"), flag("")),
            (Ok(true), Ok(false), Ok(false))
        );
        assert!(
            flag("chain: 'true'")
                .unwrap_err()
                .ends_with("AADConfig.chain of type bool")
        );
    }
}
