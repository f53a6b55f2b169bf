//! Fields of a struct out of YAML, as Go's decoder of JSON takes them.

use crate::yaml::{YamlError, spelled};
use bumpwright_yaml::{Mapping, Node, Tag, Value};

/// The entries of a mapping, looked up as encoding/json does: by the exact name, else whatever the case.
pub(crate) struct Fields<'n> {
    mapping: &'n Mapping,
    /// The struct in messages; may be empty.
    of: &'static str,
}

impl<'n> Fields<'n> {
    /// The fields of a node; null has none.
    pub(crate) fn of(node: &'n Node, wanted: &str) -> Result<Option<Self>, YamlError> {
        Self::named(node, "", &format!("Go value of type {wanted}"))
    }

    /// The same of a struct with a name in messages.
    pub(crate) fn named(node: &'n Node, of: &'static str, wanted: &str) -> Result<Option<Self>, YamlError> {
        match &node.value {
            Value::Mapping(mapping) => Ok(Some(Self { mapping, of })),
            _ if is_null(node) => Ok(None),
            _ => Err(mismatch(node, wanted)),
        }
    }

    /// The first name that is not among these, whatever the case.
    pub(crate) fn unknown(&self, known: &[&str]) -> Option<&'n str> {
        let names = self.mapping.entries.iter().map(|entry| &*entry.key.text);
        names
            .into_iter()
            .find(|name| !known.iter().any(|one| one.eq_ignore_ascii_case(name)))
    }

    fn field(&self, name: &str, ty: &str) -> String {
        format!("Go struct field {}.{name} of type {ty}", self.of)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        let entries = || self.mapping.entries.iter().rev();
        let field = entries().find(|entry| entry.key.text == name);
        let field = field.or_else(|| entries().find(|entry| entry.key.text.eq_ignore_ascii_case(name)));
        field.map(|entry| &entry.value).filter(|node| !is_null(node))
    }

    /// Sets a field of type `string`.
    pub(crate) fn text(&self, name: &str, field: &mut String) -> Result<(), YamlError> {
        if let Some(node) = self.get(name) {
            *field = self.spelled(node, name)?;
        }
        Ok(())
    }

    /// Sets a field of type `[]string`.
    pub(crate) fn texts(&self, name: &str, field: &mut Vec<String>) -> Result<(), YamlError> {
        if let Some(items) = self.list(name, "[]string")? {
            let empty_for_null = |item| {
                if is_null(item) {
                    Ok(String::new())
                } else {
                    self.spelled(item, name)
                }
            };
            *field = items.iter().map(empty_for_null).collect::<Result<_, _>>()?;
        }
        Ok(())
    }

    /// The items of a field that is a slice.
    pub(crate) fn list(&self, name: &str, ty: &str) -> Result<Option<&'n [Node]>, YamlError> {
        match self.get(name) {
            None => Ok(None),
            Some(node) => match &node.value {
                Value::Sequence(sequence) => Ok(Some(&sequence.items)),
                _ => Err(mismatch(node, &self.field(name, ty))),
            },
        }
    }

    /// Sets a field of type `bool`.
    pub(crate) fn truth(&self, name: &str, field: &mut bool) -> Result<(), YamlError> {
        match self.get(name) {
            None => Ok(()),
            Some(node) => match &node.value {
                Value::Scalar(scalar) if scalar.tag == Tag::Bool => {
                    *field = scalar.text == "true";
                    Ok(())
                }
                _ => Err(mismatch(node, &self.field(name, "bool"))),
            },
        }
    }

    /// The entries of a field of type `map[string]string`.
    pub(crate) fn pairs(&self, name: &str) -> Result<Option<Vec<(String, String)>>, YamlError> {
        let Some(node) = self.get(name) else { return Ok(None) };
        let Value::Mapping(mapping) = &node.value else {
            return Err(mismatch(node, &self.field(name, "map[string]string")));
        };
        let pair = |entry: &bumpwright_yaml::Entry| {
            let value = if is_null(&entry.value) {
                String::new()
            } else {
                self.spelled(&entry.value, name)?
            };
            Ok((entry.key.text.to_string(), value))
        };
        mapping.entries.iter().map(pair).collect::<Result<_, _>>().map(Some)
    }

    fn spelled(&self, node: &Node, name: &str) -> Result<String, YamlError> {
        match &node.value {
            Value::Scalar(scalar) => Ok(spelled(scalar)),
            _ => Err(mismatch(node, &self.field(name, "string"))),
        }
    }
}

fn is_null(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(scalar) if scalar.tag == Tag::Null)
}

fn mismatch(node: &Node, wanted: &str) -> YamlError {
    let actual = match &node.value {
        Value::Mapping(_) => "object",
        Value::Sequence(_) => "array",
        Value::Scalar(scalar) => match scalar.tag {
            Tag::Bool => "bool",
            Tag::Int | Tag::Float => "number",
            Tag::Null => "null",
            _ => "string",
        },
    };
    let wanted = wanted.to_owned();
    YamlError::Type { found: actual, wanted }
}
