//! What values of a type have to fulfil, beside their shape.

use std::sync::OnceLock;

use bumpwright_re2::Regexp;
use serde_json::Value;

use super::format::Format;

/// Rules for a value. Those inside of `all`, `any`, `one` and `not` go on below it.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// In the rules of a combination, the types that are allowed; none for all.
    pub(crate) types: Vec<Kind>,
    pub(crate) values: Vec<Value>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) format: Option<Format>,
    pub(crate) length: Range,
    pub(crate) items: Range,
    pub(crate) entries: Range,
    pub(crate) least: Option<Bound>,
    pub(crate) most: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) unique: Option<Unique>,
    pub(crate) required: Vec<String>,
    pub(crate) fields: Vec<(String, Rules)>,
    pub(crate) each: Option<Box<Rules>>,
    pub(crate) all: Vec<Rules>,
    pub(crate) any: Vec<Rules>,
    pub(crate) one: Vec<Rules>,
    pub(crate) not: Option<Box<Rules>>,
}

/// A type of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

/// A least and a greatest count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) least: Option<u64>,
    pub(crate) most: Option<u64>,
}

/// A bound of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) number: f64,
    /// Whether the number itself is outside.
    pub(crate) exclusive: bool,
}

/// What tells the items of a list apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unique {
    Whole,
    /// The values of these fields.
    Keys(Vec<String>),
}

/// A regular expression, compiled when it is needed.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    compiled: OnceLock<Option<Regexp>>,
}

impl Pattern {
    pub(crate) fn new(text: String) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
        }
    }

    /// None if it is not a regular expression: an API server refuses its definition.
    pub(crate) fn regexp(&self) -> Option<&Regexp> {
        self.compiled.get_or_init(|| Regexp::new(&self.text).ok()).as_ref()
    }
}

impl Rules {
    /// One of these texts.
    pub(crate) fn one_of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        Self {
            values: values.map(Value::from).collect(),
            ..Self::default()
        }
    }

    /// Whether any value fulfils them.
    pub(crate) fn is_empty(&self) -> bool {
        let counts = [self.length, self.items, self.entries];
        self.types.is_empty()
            && self.values.is_empty()
            && self.pattern.is_none()
            && self.format.is_none()
            && counts.iter().all(|range| *range == Range::default())
            && self.least.is_none()
            && self.most.is_none()
            && self.multiple_of.is_none()
            && self.unique.is_none()
            && self.required.is_empty()
            && self.fields.is_empty()
            && self.each.is_none()
            && self.all.is_empty()
            && self.any.is_empty()
            && self.one.is_empty()
            && self.not.is_none()
    }
}

impl Kind {
    /// A type by its name in a schema.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    pub(crate) fn has(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => super::scalar::whole(value).is_some(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}
