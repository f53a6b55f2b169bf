//! Lenient decoding of metadata: names in any case, numbers for strings and strings for numbers, one item for a list.
//! These are the rules of the Go library that SOPS decodes its metadata with, where they can matter to a file.

use super::tree::{Branch, Entry, Key, Value};
use bumpwright_gostd::{format_float, parse_int};
use std::collections::BTreeMap;

/// A field of another type; the error does not contain its value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("decoding failed due to the following error(s):\n\n'{name}' {problem}")]
pub(crate) struct FieldError {
    name: String,
    problem: String,
}

/// Entries with the path to them.
pub(crate) struct Fields<'t> {
    branch: &'t [Entry],
    at: String,
}

type Read<T> = Result<T, FieldError>;

impl<'t> Fields<'t> {
    pub(crate) const fn new(branch: &'t Branch) -> Self {
        Self {
            branch: branch.as_slice(),
            at: String::new(),
        }
    }

    /// The value of a name; otherwise of one in another case. Null counts as missing, and the last duplicate counts.
    fn value(&self, name: &str) -> Option<&'t Value> {
        let named = |wanted: &dyn Fn(&[u8]) -> bool| {
            let entries = self.branch.iter().rev();
            let mut entries = entries.filter(|entry| matches!(&entry.key, Key::Name(key) if wanted(key)));
            entries.next().map(|entry| &entry.value)
        };
        named(&|key| key == name.as_bytes())
            .or_else(|| named(&|key| key.eq_ignore_ascii_case(name.as_bytes())))
            .filter(|value| !matches!(value, Value::Null))
    }

    fn path(&self, name: &str) -> String {
        if self.at.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.at)
        }
    }

    fn unfit<T>(name: String, wanted: &str, value: &Value) -> Read<T> {
        Err(FieldError {
            name,
            problem: format!(
                "expected type '{wanted}', got unconvertible type '{}'",
                decoded_type(value)
            ),
        })
    }

    pub(crate) fn text(&self, name: &str) -> Read<String> {
        match self.value(name) {
            None => Ok(String::new()),
            Some(value) => as_text(value).map_or_else(|| Self::unfit(self.path(name), "string", value), Ok),
        }
    }

    pub(crate) fn integer(&self, name: &str) -> Read<i64> {
        let Some(value) = self.value(name) else {
            return Ok(0);
        };
        Ok(match value {
            Value::Int(number) => *number,
            Value::Uint(number) => number.cast_signed(),
            #[allow(clippy::cast_possible_truncation)] // as Go converts it
            Value::Float(number) => *number as i64,
            Value::Bool(boolean) => i64::from(*boolean),
            Value::Text(text) if text.is_empty() => 0,
            Value::Text(text) => parse_int(&**text, 0, 64).map_err(|_| FieldError {
                name: self.path(name),
                problem: "cannot parse value as 'int': strconv.ParseInt: invalid syntax".to_owned(),
            })?,
            other => return Self::unfit(self.path(name), "int", other),
        })
    }

    pub(crate) fn boolean(&self, name: &str) -> Read<bool> {
        let Some(value) = self.value(name) else {
            return Ok(false);
        };
        Ok(match value {
            Value::Bool(boolean) => *boolean,
            Value::Int(number) => *number != 0,
            Value::Uint(number) => *number != 0,
            Value::Float(number) => *number != 0.0,
            Value::Text(text) => match text.as_slice() {
                b"1" | b"t" | b"T" | b"TRUE" | b"true" | b"True" => true,
                b"" | b"0" | b"f" | b"F" | b"FALSE" | b"false" | b"False" => false,
                _ => {
                    return Err(FieldError {
                        name: self.path(name),
                        problem: "cannot parse value as 'bool': strconv.ParseBool: invalid syntax".to_owned(),
                    });
                }
            },
            other => return Self::unfit(self.path(name), "bool", other),
        })
    }

    /// The items of a list, each as entries.
    pub(crate) fn list(&self, name: &str) -> Read<Vec<Self>> {
        let items: &[Value] = match self.value(name) {
            None => &[],
            Some(Value::List(items)) => items,
            Some(Value::Branch(branch)) if !branch.iter().any(|entry| matches!(entry.key, Key::Name(_))) => &[],
            Some(value) => std::slice::from_ref(value),
        };
        let items = items.iter().filter(|item| !matches!(item, Value::Comment(_)));
        let fields = items.enumerate().map(|(at, item)| {
            let at = format!("{}[{at}]", self.path(name));
            match item {
                Value::Branch(branch) => Ok(Self { branch, at }),
                Value::Null => Ok(Self { branch: &[], at }),
                other => Err(FieldError {
                    problem: format!("expected a map or struct, got \"{}\"", go_kind(other)),
                    name: at,
                }),
            }
        });
        fields.collect()
    }

    /// Names with texts, or with null.
    pub(crate) fn pairs(&self, name: &str) -> Read<BTreeMap<String, Option<String>>> {
        let branch = match self.value(name) {
            None => return Ok(BTreeMap::new()),
            Some(Value::Branch(branch)) => branch,
            Some(Value::List(items)) if items.is_empty() => return Ok(BTreeMap::new()),
            Some(other) => return Self::unfit(self.path(name), "map[string]*string", other),
        };
        let mut pairs = BTreeMap::new();
        for entry in branch {
            let Key::Name(key) = &entry.key else { continue };
            let key = String::from_utf8_lossy(key).into_owned();
            let value = match &entry.value {
                Value::Null => None,
                value => match as_text(value) {
                    Some(text) => Some(text),
                    None => return Self::unfit(format!("{}[{key}]", self.path(name)), "string", value),
                },
            };
            pairs.insert(key, value);
        }
        Ok(pairs)
    }
}

fn as_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Bool(boolean) => u8::from(*boolean).to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) => format_float(*number, b'f', None, 64),
        _ => return None,
    })
}

/// The Go type after SOPS has converted branches to maps.
const fn decoded_type(value: &Value) -> &'static str {
    match value {
        Value::Branch(_) => "map[string]interface {}",
        other => other.go_type(),
    }
}

const fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::List(_) => "slice",
        Value::Time(_) => "struct",
        other => other.go_type(),
    }
}
