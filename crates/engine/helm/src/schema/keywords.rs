//! A schema after it has been read.

use super::{draft::Draft, format::Format, number::Decimal};
use bumpwright_re2::Regexp;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The index of a schema among all that belong together.
pub(super) type Id = usize;

/// A schema, and what it is part of.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) url: String,
    pub(super) pointer: String,
    pub(super) draft: Draft,
    /// The resource that it is part of.
    pub(super) resource: Id,
    /// Of a resource: the schemas with a dynamic anchor.
    pub(super) dynamic_anchors: BTreeMap<String, Id>,
    /// `true`, `false` and `{}` are schemas, too.
    pub(super) fixed: Option<bool>,
    pub(super) keywords: Keywords,
}

/// The types of JSON, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

const TYPE_NAMES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

impl Types {
    /// The types that a schema names; unknown ones are left out.
    pub(super) fn of_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let indexes = names
            .into_iter()
            .filter_map(|name| TYPE_NAMES.iter().position(|known| *known == name));
        Self(indexes.fold(0, |set, index| set | 1 << index))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn has(self, name: &str) -> bool {
        self.0 & Self::of_names([name]).0 != 0
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        let types = TYPE_NAMES.iter().enumerate();
        types
            .filter(move |(index, _)| self.0 & 1 << index != 0)
            .map(|(_, name)| *name)
    }
}

/// The type of a value.
pub(super) fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// What is said about members that no other keyword is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Additional {
    Allowed(bool),
    Schema(Id),
}

/// What a property brings with it.
#[derive(Debug)]
pub(super) enum Dependency {
    Properties(Vec<String>),
    Schema(Id),
}

/// `items` of the drafts before 2020-12.
#[derive(Debug, Default)]
pub(super) enum Items {
    #[default]
    Unsaid,
    All(Id),
    Each(Vec<Id>),
}

/// The keywords of a schema.
#[derive(Debug, Default)]
pub(super) struct Keywords {
    pub(super) types: Types,
    pub(super) constant: Option<Json>,
    pub(super) choices: Option<Vec<Json>>,
    pub(super) format: Option<Format>,

    pub(super) reference: Option<Id>,
    pub(super) recursive_reference: Option<Id>,
    pub(super) is_recursive_anchor: bool,
    /// The target, and the anchor that is looked for.
    pub(super) dynamic_reference: Option<(Id, Option<String>)>,
    pub(super) dynamic_anchor: Option<String>,

    pub(super) all_of: Vec<Id>,
    pub(super) any_of: Vec<Id>,
    pub(super) one_of: Vec<Id>,
    pub(super) not: Option<Id>,
    pub(super) condition: Option<Id>,
    pub(super) then: Option<Id>,
    pub(super) otherwise: Option<Id>,

    pub(super) min_properties: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) required: Vec<String>,
    pub(super) properties: BTreeMap<String, Id>,
    pub(super) pattern_properties: Vec<(Regexp, Id)>,
    pub(super) additional_properties: Option<Additional>,
    pub(super) property_names: Option<Id>,
    pub(super) dependencies: Vec<(String, Dependency)>,
    pub(super) dependent_schemas: Vec<(String, Id)>,
    pub(super) dependent_required: Vec<(String, Vec<String>)>,
    pub(super) unevaluated_properties: Option<Id>,

    pub(super) min_items: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) items: Items,
    pub(super) additional_items: Option<Additional>,
    pub(super) prefix_items: Vec<Id>,
    /// `items` since 2020-12.
    pub(super) rest_items: Option<Id>,
    pub(super) contains: Option<Id>,
    pub(super) min_contains: Option<i64>,
    pub(super) max_contains: Option<i64>,
    pub(super) unevaluated_items: Option<Id>,

    pub(super) min_length: Option<i64>,
    pub(super) max_length: Option<i64>,
    pub(super) pattern: Option<Regexp>,

    pub(super) minimum: Option<Decimal>,
    pub(super) maximum: Option<Decimal>,
    pub(super) exclusive_minimum: Option<Decimal>,
    pub(super) exclusive_maximum: Option<Decimal>,
    pub(super) multiple_of: Option<Decimal>,
}

impl Keywords {
    /// Whether no property is left for `unevaluatedProperties`.
    pub(super) fn evaluates_all_properties(&self) -> bool {
        self.additional_properties.is_some()
    }

    /// How many of the first items are not left for `unevaluatedItems`; none if no item is.
    pub(super) fn evaluated_items(&self, draft: Draft) -> Option<usize> {
        if draft >= Draft::Y2020 {
            return self.rest_items.is_none().then_some(self.prefix_items.len());
        }
        match (&self.items, self.additional_items) {
            (Items::All(_), _) | (_, Some(_)) => None,
            (Items::Each(items), None) => Some(items.len()),
            (Items::Unsaid, None) => Some(0),
        }
    }
}
