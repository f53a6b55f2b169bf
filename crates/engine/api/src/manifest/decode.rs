//! A serde deserializer over the tree of a manifest, whose errors name the field and its place.

use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use crate::tree::Place;
use crate::tree::{Entry, Node, Value};

/// A field that does not fit its type.
#[derive(Debug)]
pub(crate) struct DecodeError {
    /// The path of the field, innermost part first.
    path: Vec<PathSegment>,
    /// Place of the field or, if it is missing, of its object.
    pub(crate) place: Option<Place>,
    /// The fault, worded to follow the field.
    message: String,
}

#[derive(Debug)]
enum PathSegment {
    Field(String),
    Item(usize),
}

/// Reads a value of type `T` from a document.
pub(crate) fn decode<'de, T: Deserialize<'de>>(node: &'de Node) -> Result<T, DecodeError> {
    T::deserialize(Cursor(node)).map_err(|error| error.at(node))
}

impl DecodeError {
    fn at(mut self, node: &Node) -> Self {
        self.place.get_or_insert(node.place);
        self
    }

    fn below(mut self, part: PathSegment) -> Self {
        self.path.push(part);
        self
    }

    fn expected(what: &str, node: &Node) -> Self {
        let message = format!("must be {what}, not {}", node.describe());
        <Self as de::Error>::custom(message).at(node)
    }
}

/// `spec.git.commit.author.email is required`
impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, part) in self.path.iter().rev().enumerate() {
            match part {
                PathSegment::Field(name) if depth == 0 => f.write_str(name)?,
                PathSegment::Field(name) => write!(f, ".{name}")?,
                PathSegment::Item(index) => write!(f, "[{index}]")?,
            }
        }
        let gap = if self.path.is_empty() { "" } else { " " };
        write!(f, "{gap}{}", self.message)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            path: Vec::new(),
            place: None,
            message: message.to_string(),
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom("is required").below(PathSegment::Field(field.to_owned()))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let quoted: Vec<String> = expected.iter().map(|name| format!("{name:?}")).collect();
        Self::custom(format!(
            "is {variant:?}, which is not supported; supported: {}",
            quoted.join(", ")
        ))
    }
}

/// The booleans of YAML 1.1, as Kubernetes' tools read them; `None` for other words.
pub(crate) fn is_true(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => Some(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => Some(false),
        _ => None,
    }
}

/// The deserializer of a node.
#[derive(Clone, Copy)]
struct Cursor<'de>(&'de Node);

impl<'de> Cursor<'de> {
    fn text(self, what: &str) -> Result<&'de str, DecodeError> {
        match &self.0.value {
            // Go's decoder leaves a string empty for a null.
            Value::Scalar { .. } if self.0.is_null() => Ok(""),
            Value::Scalar { text, .. } => Ok(text),
            _ => Err(DecodeError::expected(what, self.0)),
        }
    }
}

impl Cursor<'_> {
    fn integer<T: FromStr>(self) -> Result<T, DecodeError> {
        let number = match &self.0.value {
            Value::Scalar { text, plain: true } => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| DecodeError::expected("an integer", self.0))
    }
}

impl<'de> de::Deserializer<'de> for Cursor<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.0.value {
            Value::Scalar { text, .. } if !self.0.is_null() => visitor.visit_borrowed_str(text),
            Value::Scalar { .. } | Value::Alias { .. } => visitor.visit_unit(),
            Value::List { .. } => self.deserialize_seq(visitor),
            Value::Map { .. } => self.deserialize_map(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_borrowed_str(self.text("a string")?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let Value::Scalar { text, plain: true } = &self.0.value else {
            return Err(DecodeError::expected("true or false", self.0));
        };
        match is_true(text) {
            Some(value) => visitor.visit_bool(value),
            None => Err(DecodeError::expected("true or false", self.0)),
        }
    }

    /// The generations of a status, in what `kubectl get -o yaml` prints.
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_i64(self.integer()?)
    }

    /// The size of an artifact there.
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_u64(self.integer()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.0.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &str, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.0.value {
            Value::List { items, .. } => visitor.visit_seq(Items(items.iter().enumerate())),
            _ => Err(DecodeError::expected("a list", self.0)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.fields(visitor, false)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.fields(visitor, true)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let variant: StrDeserializer<'_, DecodeError> = self.text("a string")?.into_deserializer();
        visitor.visit_enum(variant).map_err(|error| error.at(self.0))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

impl<'de> Cursor<'de> {
    /// A mapping's entries. In a struct a null is an absent field, as it is for Kubernetes.
    fn fields<V: Visitor<'de>>(self, visitor: V, skip_nulls: bool) -> Result<V::Value, DecodeError> {
        let Value::Map { entries, .. } = &self.0.value else {
            return Err(DecodeError::expected("a mapping", self.0));
        };
        let fields = Fields {
            entries: entries.iter(),
            value: None,
            skip_nulls,
        };
        visitor.visit_map(fields).map_err(|error| error.at(self.0))
    }
}

struct Items<'de>(std::iter::Enumerate<std::slice::Iter<'de, Rc<Node>>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeError> {
        let Some((index, node)) = self.0.next() else {
            return Ok(None);
        };
        let value = seed
            .deserialize(Cursor(node))
            .map_err(|error| error.at(node).below(PathSegment::Item(index)))?;
        Ok(Some(value))
    }
}

struct Fields<'de> {
    entries: std::slice::Iter<'de, Entry>,
    value: Option<&'de Entry>,
    skip_nulls: bool,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let skip_nulls = self.skip_nulls;
        let mut present = self
            .entries
            .by_ref()
            .filter(|entry| !skip_nulls || !entry.node.is_null());
        let Some(entry) = present.next() else { return Ok(None) };
        self.value = Some(entry);
        let key: StrDeserializer<'_, DecodeError> = entry.name().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let entry = self
            .value
            .take()
            .ok_or_else(|| <DecodeError as de::Error>::custom("a value without its key"))?;
        let error = |error: DecodeError| error.at(&entry.node).below(PathSegment::Field(entry.name().to_owned()));
        seed.deserialize(Cursor(&entry.node)).map_err(error)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tree::parse;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sample {
        name: String,
        #[serde(default)]
        on: bool,
        #[serde(default)]
        items: Vec<Item>,
        #[serde(default)]
        map: BTreeMap<String, String>,
        word: Option<Word>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Item {
        id: String,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Word {
        Yes,
    }

    fn sample(text: &str) -> Result<Sample, String> {
        let (documents, error) = parse(text);
        assert!(error.is_none(), "{error:?}");
        decode(&documents[0]).map_err(|error| {
            let place = error.place.unwrap();
            format!("{}:{}: {error}", place.line, place.column)
        })
    }

    #[test]
    fn scalars_keep_their_spelling() {
        let read =
            sample("name: 1.10\non: yes\nmap: {a: 0x1, b: , c: true}\nitems: null\nword: Yes\nother: {x: [1]}\n");
        let map = [("a", "0x1"), ("b", ""), ("c", "true")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let expected = Sample {
            name: "1.10".to_owned(),
            on: true,
            items: Vec::new(),
            map: BTreeMap::from(map),
            word: Some(Word::Yes),
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn errors_name_field_and_place() {
        for (text, error) in [
            ("on: true\n", "1:1: name is required"),
            ("name: ~\n", "1:1: name is required"),
            ("name: [a]\n", "1:7: name must be a string, not a list"),
            ("name: a\non: maybe\n", "2:5: on must be true or false, not a scalar"),
            ("name: a\non: 'true'\n", "2:5: on must be true or false, not a scalar"),
            ("name: a\nitems:\n- id: b\n- ie: c\n", "4:3: items[1].id is required"),
            ("name: a\nitems: {}\n", "2:8: items must be a list, not a mapping"),
            ("name: a\nmap: [b]\n", "2:6: map must be a mapping, not a list"),
            (
                "name: a\nword: No\n",
                "2:7: word is \"No\", which is not supported; supported: \"Yes\"",
            ),
        ] {
            assert_eq!(sample(text), Err(error.to_owned()), "{text}");
        }
    }
}
