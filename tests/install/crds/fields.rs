//! Schemas and Rust types have the same fields.
//!
//! A deserializer walks through a type and the kind's schema at once: serde passes it the fields of each
//! struct; it compares them with the schema's, and returns an object that has all of them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bumpwright_api::{
    Bucket, GitRepository, HelmChart, HelmRepository, ImagePolicy, ImageRepository, ImageUpdateAutomation,
    OciRepository,
};
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Value as Json;

use super::definition;

/// Fields below `spec` that no type reads yet, with all that is below them.
const UNREAD: &[(&str, &[&str])] = &[
    ("ImagePolicy", &[]),
    ("ImageRepository", &[]),
    ("ImageUpdateAutomation", &[]),
    (
        "GitRepository",
        &[
            // Of the betas, and never asked by Flux for Git.
            "spec.accessFrom",
            // Accepted without effect.
            "spec.gitImplementation",
        ],
    ),
    ("OCIRepository", &[]),
    ("Bucket", &["spec.accessFrom"]),
    ("HelmChart", &[]),
    ("HelmRepository", &[]),
];

/// Names that a type takes from manifests though no version has them.
const OUTSIDE: &[(&str, &str)] = &[
    // The v1 document's own example has it in place of `name` (docs/decisions.md C36).
    ("ImagePolicy", "status.latestRef.image"),
    ("ImagePolicy", "status.observedPreviousRef.image"),
];

#[test]
fn every_field_that_a_type_reads_is_in_its_schema_and_the_other_way_round() {
    check::<ImagePolicy>("ImagePolicy");
    check::<ImageRepository>("ImageRepository");
    check::<ImageUpdateAutomation>("ImageUpdateAutomation");
    check::<GitRepository>("GitRepository");
    check::<OciRepository>("OCIRepository");
    check::<Bucket>("Bucket");
    check::<HelmChart>("HelmChart");
    check::<HelmRepository>("HelmRepository");
}

/// The walk itself: it must see what is missing on either side.
#[test]
fn the_walk_sees_fields_that_only_one_side_has() {
    #[derive(Deserialize)]
    #[allow(dead_code)]
    struct Thing {
        #[serde(default)]
        spec: Inner,
    }
    #[derive(Deserialize, Default)]
    #[allow(dead_code)]
    struct Inner {
        both: Option<String>,
        only_read: Option<bool>,
    }
    let schema = serde_json::json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "both": {"type": "string"},
        "onlyDeclared": {"type": "object", "properties": {"below": {"type": "string"}}},
    }}}});
    let walk = walk::<Thing>(&schema);
    assert_eq!(walk.undeclared, ["spec.only_read"]);
    assert_eq!(walk.read, ["spec", "spec.both"]);
    let declared: BTreeSet<String> = declared(&schema, "").into_iter().collect();
    assert!(declared.contains("spec.onlyDeclared.below"));
}

fn check<T: for<'de> Deserialize<'de>>(kind: &str) {
    let definition = definition(kind);
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let walk = walk::<T>(schema);
    let outside: Vec<&str> = of_kind(OUTSIDE, kind);
    let undeclared: Vec<&String> = walk
        .undeclared
        .iter()
        .filter(|path| !outside.contains(&path.as_str()))
        .collect();
    assert!(
        undeclared.is_empty(),
        "{kind}: read, but not in the schema: {undeclared:?}"
    );

    let unread = UNREAD.iter().find(|(of, _)| *of == kind).unwrap().1;
    let is_excused = |path: &str| {
        unread
            .iter()
            .any(|excused| path == *excused || path.starts_with(&format!("{excused}.")))
    };
    for path in declared(schema, "").iter().filter(|path| path.starts_with("spec.")) {
        let read = walk.read.contains(path);
        assert_ne!(read, is_excused(path), "{kind}: {path} is read: {read}; see UNREAD");
    }
    println!("{kind}: {} fields are read", walk.read.len());
}

fn of_kind<'a>(rows: &[(&str, &'a str)], kind: &str) -> Vec<&'a str> {
    rows.iter()
        .filter(|(of, _)| *of == kind)
        .map(|(_, path)| *path)
        .collect()
}

/// All fields of a schema; the items of lists and the values of maps have no name of their own.
fn declared(schema: &Json, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = join(at, name);
        found.extend(declared(field, &path));
        found.push(path);
    }
    let inner = ["items", "additionalProperties"].into_iter();
    for schema in inner.filter_map(|keyword| schema.get(keyword)) {
        found.extend(declared(schema, at));
    }
    found
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

/// What was seen, sorted.
#[derive(Default)]
struct Walk {
    /// Fields of structs that the schema has too.
    read: Vec<String>,
    /// Fields of structs that the schema lacks.
    undeclared: Vec<String>,
}

fn walk<T: for<'de> Deserialize<'de>>(schema: &Json) -> Walk {
    let seen = RefCell::new(BTreeMap::new());
    let step = Step {
        schema,
        path: String::new(),
        seen: &seen,
    };
    T::deserialize(step).unwrap_or_else(|error| panic!("{error}"));
    let (read, undeclared): (Vec<_>, Vec<_>) = seen.into_inner().into_iter().partition(|(_, declared)| *declared);
    Walk {
        read: read.into_iter().map(|(path, _)| path).collect(),
        undeclared: undeclared.into_iter().map(|(path, _)| path).collect(),
    }
}

/// A place in the schema from which a value is asked for.
struct Step<'a> {
    schema: &'a Json,
    path: String,
    /// Fields that structs asked for, and whether the schema has them.
    seen: &'a RefCell<BTreeMap<String, bool>>,
}

impl<'a> Step<'a> {
    fn field(&self, name: &str) -> Step<'a> {
        Step {
            schema: &self.schema["properties"][name],
            path: join(&self.path, name),
            seen: self.seen,
        }
    }

    fn inner(&self, keyword: &str) -> Step<'a> {
        Step {
            schema: &self.schema[keyword],
            path: self.path.clone(),
            seen: self.seen,
        }
    }

    /// A text that fits: the first of an enumeration, something with the pattern, anything.
    fn text(&self) -> String {
        let first = self.schema["enum"][0].as_str().map(str::to_owned);
        let by_pattern = match self.schema["pattern"].as_str() {
            Some(pattern) if pattern.contains("(ms|s|m") || pattern.contains("|ms|s|m") => "1m",
            _ => "text",
        };
        first.unwrap_or_else(|| by_pattern.to_owned())
    }

    fn is(&self, kind: &str) -> Result<(), Mismatch> {
        // `metadata` is the API server's own: its fields are not in the schema.
        if self.path == "metadata" || self.path.starts_with("metadata.") || self.schema["type"] == kind {
            return Ok(());
        }
        let found = &self.schema["type"];
        Err(Mismatch(format!("{}: read as {kind}, declared as {found}", self.path)))
    }
}

#[derive(Debug)]
struct Mismatch(String);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl<'de> de::Deserializer<'de> for Step<'_> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Mismatch> {
        Err(Mismatch(format!("{}: its type does not say what it reads", self.path)))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.is("object")?;
        if self.path == "metadata" {
            let named = vec![Step {
                path: "metadata.name".to_owned(),
                ..self.field("name")
            }];
            return visitor.visit_map(Entries {
                names: vec!["name".to_owned()],
                steps: named,
            });
        }
        let declared = |name: &str| self.schema["properties"].get(name).is_some();
        for name in fields {
            self.seen.borrow_mut().insert(join(&self.path, name), declared(name));
        }
        let names: Vec<String> = fields
            .iter()
            .filter(|name| declared(name))
            .map(|name| (*name).to_owned())
            .collect();
        let steps = names.iter().map(|name| self.field(name)).collect();
        visitor.visit_map(Entries { names, steps })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.is("object")?;
        let steps = vec![self.inner("additionalProperties")];
        let names = vec!["key".to_owned()];
        visitor.visit_map(Entries { names, steps })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.is("array")?;
        visitor.visit_seq(Items(Some(self.inner("items"))))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.is("boolean")?;
        visitor.visit_bool(true)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.is("integer")?;
        visitor.visit_i64(1)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.is("string")?;
        visitor.visit_string(self.text())
    }

    /// The type must know what the schema allows; it may be laxer.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let allowed: Vec<&str> = self.schema["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        if let Some(unknown) = allowed.iter().find(|value| !variants.contains(value)) {
            return Err(Mismatch(format!("{}: the type does not know {unknown}", self.path)));
        }
        let text: StrDeserializer<'_, Mismatch> = allowed.first().copied().unwrap_or_default().into_deserializer();
        visitor.visit_enum(text)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_string(visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct ignored_any
    }
}

/// The fields of an object, or the one entry of a map.
struct Entries<'a> {
    names: Vec<String>,
    steps: Vec<Step<'a>>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        let name = self.names.pop();
        name.map(|name| seed.deserialize(name.into_deserializer())).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mismatch> {
        seed.deserialize(self.steps.pop().unwrap())
    }
}

/// The one item of a list.
struct Items<'a>(Option<Step<'a>>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Mismatch;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Mismatch> {
        self.0.take().map(|step| seed.deserialize(step)).transpose()
    }
}
