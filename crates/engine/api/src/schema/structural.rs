//! Structural schemas, by which an API server validates objects: a builder that reads like the API document.
//!
//! ```text
//! object()
//!     .field("interval", duration().required().about("How often"))
//!     .field("suspend", boolean())
//! ```
//!
//! Only what Kubernetes calls *structural* can be built (API document *Extend the Kubernetes API with
//! CustomResourceDefinitions*): each value has one type, fields that are not named are dropped.
//! Fields keep their order.

use crate::manifest::emit::Yaml;

/// The keyword for the schema of a map's values or a list's items.
const VALUES: &str = "additionalProperties";
const ITEMS: &str = "items";

/// The schema of a value.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    about: Option<&'static str>,
    /// The keywords in the order in which they are written, `type` first.
    keywords: Vec<(&'static str, Keyword)>,
    pub(crate) fields: Vec<(&'static str, Schema)>,
    pub(crate) rules: Vec<Rule>,
    /// Whether the field with this schema is required.
    pub(crate) required: bool,
}

/// The value of a keyword.
#[derive(Clone, Debug)]
enum Keyword {
    Value(Yaml),
    /// The schema of all values below.
    Below(Box<Schema>),
}

/// A CEL rule over the whole value, and the message when it does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) expression: &'static str,
    pub(crate) message: &'static str,
}

/// An object; fields are added by [`Schema::field`].
pub(crate) fn object() -> Schema {
    Schema::of("object")
}

/// An object with any keys and values of one schema.
pub(crate) fn map(values: &Schema) -> Schema {
    Schema::of("object").below(VALUES, values)
}

/// A list with items of one schema.
pub(crate) fn list(items: &Schema) -> Schema {
    Schema::of("array").below(ITEMS, items)
}

pub(crate) fn string() -> Schema {
    Schema::of("string")
}

/// One of these texts.
pub(crate) fn one_of(values: &[&'static str]) -> Schema {
    string().keyword("enum", Yaml::texts(values.iter().copied()))
}

pub(crate) fn boolean() -> Schema {
    Schema::of("boolean")
}

pub(crate) fn integer() -> Schema {
    Schema::of("integer")
}

/// A whole number of 64 bits.
pub(crate) fn int64() -> Schema {
    integer().keyword("format", "int64".into())
}

/// A time in RFC 3339.
pub(crate) fn time() -> Schema {
    string().keyword("format", "date-time".into())
}

/// Any value, preserved as it is.
pub(crate) fn anything() -> Schema {
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

    /// The value of a keyword.
    pub(crate) fn value_of(&self, keyword: &str) -> Option<&Yaml> {
        self.keywords.iter().find_map(|(name, said)| match said {
            Keyword::Value(value) if *name == keyword => Some(value),
            _ => None,
        })
    }

    /// The text of a keyword.
    pub(crate) fn text_of(&self, keyword: &str) -> Option<&str> {
        match self.value_of(keyword) {
            Some(Yaml::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The schema of the items of a list or the values of a map.
    pub(crate) fn of_all_below(&self) -> Option<&Self> {
        self.keywords.iter().find_map(|(_, said)| match said {
            Keyword::Below(schema) => Some(&**schema),
            Keyword::Value(_) => None,
        })
    }

    /// The description, as shown by `kubectl explain`.
    pub(crate) fn about(mut self, text: &'static str) -> Self {
        self.about = Some(text);
        self
    }

    /// Marks the field as required.
    pub(crate) fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Adds a field to an object.
    pub(crate) fn field(mut self, name: &'static str, schema: Self) -> Self {
        self.fields.push((name, schema));
        self
    }

    /// The default of an absent field.
    pub(crate) fn default(self, value: Yaml) -> Self {
        self.keyword("default", value)
    }

    /// The regular expression (RE2) that a text must match.
    pub(crate) fn pattern(self, pattern: &str) -> Self {
        self.keyword("pattern", pattern.into())
    }

    /// The least length of a text, in characters.
    pub(crate) fn min_length(self, characters: i64) -> Self {
        self.keyword("minLength", Yaml::Number(characters))
    }

    /// The greatest length of a text, in characters.
    pub(crate) fn max_length(self, characters: i64) -> Self {
        self.keyword("maxLength", Yaml::Number(characters))
    }

    pub(crate) fn minimum(self, number: i64) -> Self {
        self.keyword("minimum", Yaml::Number(number))
    }

    /// The greatest number of items of a list.
    pub(crate) fn max_items(self, values: i64) -> Self {
        self.keyword("maxItems", Yaml::Number(values))
    }

    /// Marks the list as atomic for server-side apply: one manager owns all of it.
    pub(crate) fn atomic_list(self) -> Self {
        self.keyword("x-kubernetes-list-type", "atomic".into())
    }

    /// Marks the object as atomic for server-side apply: one manager owns all of it.
    pub(crate) fn atomic_map(self) -> Self {
        self.keyword("x-kubernetes-map-type", "atomic".into())
    }

    /// Adds a CEL rule, in which `self` is this value.
    pub(crate) fn rule(mut self, expression: &'static str, message: &'static str) -> Self {
        self.rules.push(Rule { expression, message });
        self
    }

    /// The schema in the form of `openAPIV3Schema`.
    pub(crate) fn to_yaml(&self) -> Yaml {
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
