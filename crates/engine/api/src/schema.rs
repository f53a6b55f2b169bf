//! Structural schemas, as an API server checks objects with: a builder that reads like the API document.
//!
//! ```text
//! object()
//!     .field("interval", duration().required().about("How often"))
//!     .field("suspend", boolean())
//! ```
//!
//! Only what Kubernetes calls *structural* can be built (API document *Extend the Kubernetes API with
//! CustomResourceDefinitions*): each value has one type, fields that are not named are dropped. Fields keep their order.

use super::emit::Yaml;

/// Of a map: what its values must be; of a list, its items.
const VALUES: &str = "additionalProperties";
const ITEMS: &str = "items";

/// What a value must be.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    about: Option<&'static str>,
    /// The keywords in the order in which they are written, `type` first.
    keywords: Vec<(&'static str, Keyword)>,
    pub(super) fields: Vec<(&'static str, Schema)>,
    pub(super) rules: Vec<Rule>,
    /// Whether the object that has this value as a field must have it.
    pub(super) required: bool,
}

/// What a keyword says.
#[derive(Clone, Debug)]
enum Keyword {
    Value(Yaml),
    /// What all values below must be.
    Below(Box<Schema>),
}

/// A rule in CEL over the whole value, and what is said when it does not hold.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) expression: &'static str,
    pub(super) message: &'static str,
}

/// An object with the fields that follow.
pub(super) fn object() -> Schema {
    Schema::of("object")
}

/// An object with any keys, whose values are all alike.
pub(super) fn map(values: &Schema) -> Schema {
    Schema::of("object").below(VALUES, values)
}

/// A list of values that are all alike.
pub(super) fn list(items: &Schema) -> Schema {
    Schema::of("array").below(ITEMS, items)
}

/// A text.
pub(super) fn string() -> Schema {
    Schema::of("string")
}

/// One of these texts.
pub(super) fn one_of(values: &[&'static str]) -> Schema {
    string().keyword("enum", Yaml::texts(values.iter().copied()))
}

/// `true` or `false`.
pub(super) fn boolean() -> Schema {
    Schema::of("boolean")
}

/// A whole number.
pub(super) fn integer() -> Schema {
    Schema::of("integer")
}

/// A whole number of 64 bits.
pub(super) fn int64() -> Schema {
    integer().keyword("format", "int64".into())
}

/// A time as RFC 3339 spells it.
pub(super) fn time() -> Schema {
    string().keyword("format", "date-time".into())
}

/// Anything, kept as it is.
pub(super) fn anything() -> Schema {
    Schema {
        about: None,
        keywords: vec![("x-kubernetes-preserve-unknown-fields", Keyword::Value(Yaml::Flag(true)))],
        fields: Vec::new(),
        rules: Vec::new(),
        required: false,
    }
}

impl Schema {
    fn of(kind: &str) -> Self {
        Self {
            about: None,
            keywords: vec![("type", Keyword::Value(kind.into()))],
            fields: Vec::new(),
            rules: Vec::new(),
            required: false,
        }
    }

    fn keyword(mut self, name: &'static str, value: Yaml) -> Self {
        self.keywords.push((name, Keyword::Value(value)));
        self
    }

    fn below(mut self, name: &'static str, schema: &Self) -> Self {
        self.keywords.push((name, Keyword::Below(Box::new(schema.clone()))));
        self
    }

    /// What a keyword says.
    pub(super) fn value_of(&self, keyword: &str) -> Option<&Yaml> {
        self.keywords.iter().find_map(|(name, said)| match said {
            Keyword::Value(value) if *name == keyword => Some(value),
            _ => None,
        })
    }

    /// What a keyword says in text.
    pub(super) fn text_of(&self, keyword: &str) -> Option<&str> {
        match self.value_of(keyword) {
            Some(Yaml::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// What the items of a list or the values of a map must be.
    pub(super) fn of_all_below(&self) -> Option<&Self> {
        self.keywords.iter().find_map(|(_, said)| match said {
            Keyword::Below(schema) => Some(&**schema),
            Keyword::Value(_) => None,
        })
    }

    /// What `kubectl explain` says.
    pub(super) fn about(mut self, text: &'static str) -> Self {
        self.about = Some(text);
        self
    }

    /// The object that has this value as a field must have it.
    pub(super) fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Adds a field to an object.
    pub(super) fn field(mut self, name: &'static str, schema: Self) -> Self {
        self.fields.push((name, schema));
        self
    }

    /// What the API server fills in when the field is absent.
    pub(super) fn default(self, value: Yaml) -> Self {
        self.keyword("default", value)
    }

    /// A regular expression (RE2) that a text must match.
    pub(super) fn pattern(self, pattern: &str) -> Self {
        self.keyword("pattern", pattern.into())
    }

    /// The shortest that a text may be, in characters.
    pub(super) fn min_length(self, characters: i64) -> Self {
        self.keyword("minLength", Yaml::Number(characters))
    }

    /// The longest that a text may be, in characters.
    pub(super) fn max_length(self, characters: i64) -> Self {
        self.keyword("maxLength", Yaml::Number(characters))
    }

    /// The least that a number may be.
    pub(super) fn minimum(self, number: i64) -> Self {
        self.keyword("minimum", Yaml::Number(number))
    }

    /// How many values a list may have.
    pub(super) fn max_items(self, values: i64) -> Self {
        self.keyword("maxItems", Yaml::Number(values))
    }

    /// Server-side apply takes the list as a whole: one manager owns all of it.
    pub(super) fn atomic_list(self) -> Self {
        self.keyword("x-kubernetes-list-type", "atomic".into())
    }

    /// Server-side apply takes the object as a whole: one manager owns all of it.
    pub(super) fn atomic_map(self) -> Self {
        self.keyword("x-kubernetes-map-type", "atomic".into())
    }

    /// A rule in CEL, in which `self` is this value.
    pub(super) fn rule(mut self, expression: &'static str, message: &'static str) -> Self {
        self.rules.push(Rule { expression, message });
        self
    }

    /// The schema as `openAPIV3Schema` spells it.
    pub(super) fn to_yaml(&self) -> Yaml {
        let mut entries: Vec<(&str, Yaml)> = Vec::new();
        entries.extend(self.about.map(|text| ("description", text.into())));
        entries.extend(self.keywords.iter().map(|(name, said)| match said {
            Keyword::Value(value) => (*name, value.clone()),
            Keyword::Below(schema) => (*name, schema.to_yaml()),
        }));
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter_map(|(name, field)| field.required.then_some(*name))
            .collect();
        if !required.is_empty() {
            entries.push(("required", Yaml::texts(required)));
        }
        if !self.fields.is_empty() {
            let properties = self.fields.iter().map(|(name, field)| (*name, field.to_yaml()));
            entries.push(("properties", Yaml::map(properties)));
        }
        if !self.rules.is_empty() {
            entries.push((
                "x-kubernetes-validations",
                Yaml::List(self.rules.iter().map(Rule::to_yaml).collect()),
            ));
        }
        Yaml::map(entries)
    }
}

impl Rule {
    fn to_yaml(&self) -> Yaml {
        Yaml::map([("rule", self.expression.into()), ("message", self.message.into())])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_written_as_the_api_document_reads() {
        let schema = object()
            .about("What to do")
            .field("name", string().min_length(1).max_length(63).required())
            .field("kind", one_of(&["A", "B"]).default("A".into()))
            .field("labels", map(&string()))
            .field("values", list(&anything()).atomic_list())
            .rule("has(self.name)", "a name is needed");
        let expected = "\
description: What to do
type: object
required:
- name
properties:
  name:
    type: string
    minLength: 1
    maxLength: 63
  kind:
    type: string
    enum:
    - A
    - B
    default: A
  labels:
    type: object
    additionalProperties:
      type: string
  values:
    type: array
    items:
      x-kubernetes-preserve-unknown-fields: true
    x-kubernetes-list-type: atomic
x-kubernetes-validations:
- rule: has(self.name)
  message: a name is needed
";
        assert_eq!(schema.to_yaml().document(), expected);
    }
}
