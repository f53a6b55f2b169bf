//! The types of a CustomResourceDefinition: structural schemas (`openAPIV3Schema`) in their own words.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::format::Format;
use super::rules::{Bound, Kind, Pattern, Range, Rules, Unique};
use super::shape::{Field, Id, Object, Reader, Shape, Shapes, Type};
use bumpwright_json::Texts;

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "CustomResourceDefinition";

/// Depth of a schema; real ones that hold a whole pod have about 20.
const MAX_DEPTH: usize = 100;
/// Types and rules of one definition; the largest real ones have some ten thousand.
const MAX_PARTS: usize = 200_000;

/// A definition that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrdError {
    /// It is another object.
    #[error("not a CustomResourceDefinition of apiextensions.k8s.io/v1, but {kind} of {api_version}")]
    Other { api_version: String, kind: String },
    /// A field is missing.
    #[error("CustomResourceDefinition {name}: {field}: Required value")]
    Missing { name: String, field: &'static str },
    /// A schema is too deep or too large.
    #[error(
        "CustomResourceDefinition {name}: its schemas are nested more than {MAX_DEPTH} deep, or have more than {MAX_PARTS} parts"
    )]
    TooLarge { name: String },
}

/// A kind that a CustomResourceDefinition defines.
#[derive(Debug)]
pub(crate) struct Crd {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) versions: Vec<Version>,
    pub(crate) shapes: Shapes,
}

/// A version of such a kind.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) served: bool,
    pub(crate) of: Id,
    /// Whether the status of an object that is created is thrown away.
    pub(crate) has_status: bool,
}

/// Whether an object is a CustomResourceDefinition.
pub(crate) fn is_definition(object: &Value) -> bool {
    object.text_at("/apiVersion") == API_VERSION && object.text_at("/kind") == KIND
}

impl Crd {
    pub(crate) fn read(definition: &Value) -> Result<Self, CrdError> {
        if !is_definition(definition) {
            return Err(CrdError::Other {
                api_version: definition.text_at("/apiVersion").to_owned(),
                kind: definition.text_at("/kind").to_owned(),
            });
        }
        let name = definition.text_at("/metadata/name");
        let required = |field, pointer| match definition.text_at(pointer) {
            "" => Err(CrdError::Missing {
                name: name.to_owned(),
                field,
            }),
            found => Ok(found.to_owned()),
        };
        let mut compiler = Compiler::new();
        let mut read = Vec::new();
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten() {
            let schema = version.pointer("/schema/openAPIV3Schema");
            let of = compiler
                .root(schema)
                .ok_or_else(|| CrdError::TooLarge { name: name.to_owned() })?;
            read.push(Version {
                name: version.text_at("/name").to_owned(),
                served: version.get("served") == Some(&Value::Bool(true)),
                of,
                has_status: version.pointer("/subresources/status").is_some_and(Value::is_object),
            });
        }
        Ok(Self {
            group: required("spec.group", "/spec/group")?,
            kind: required("spec.names.kind", "/spec/names/kind")?,
            namespaced: definition.text_at("/spec/scope") != "Cluster",
            versions: read,
            shapes: compiler.shapes,
        })
    }
}

/// From schemas to types. None is returned where a schema is too deep or too large.
struct Compiler {
    shapes: Shapes,
    parts: usize,
}

type Schema = Map<String, Value>;

impl Compiler {
    fn new() -> Self {
        Self {
            shapes: Shapes::new(Reader::OpenApi),
            parts: 0,
        }
    }

    /// The type of a whole object; without a schema it may be anything.
    fn root(&mut self, schema: Option<&Value>) -> Option<Id> {
        let Some(schema) = schema.and_then(Value::as_object) else {
            let fields = self.identity(false);
            return Some(self.shapes.push(Shape::Object(Object::new(fields, true))));
        };
        let rules = self.rules(schema, false, 0)?;
        let shape = self.object(schema, Some(false), 0)?;
        Some(self.shapes.push_type(Type {
            shape,
            nullable: false,
            rules,
        }))
    }

    /// The fields that each Kubernetes object has.
    fn identity(&mut self, required: bool) -> Vec<Field> {
        let text = self.shapes.push(Shape::String);
        let metadata = self.shapes.push(Shape::ObjectMeta);
        let field = |name, of, required| Field {
            name: Cow::Borrowed(name),
            of,
            required,
        };
        vec![
            field("apiVersion", text, required),
            field("kind", text, required),
            field("metadata", metadata, false),
        ]
    }

    fn enter(&mut self, depth: usize) -> Option<()> {
        self.parts += 1;
        (depth <= MAX_DEPTH && self.parts <= MAX_PARTS).then_some(())
    }

    fn structural(&mut self, schema: &Value, depth: usize) -> Option<Id> {
        self.enter(depth)?;
        let none = Schema::new();
        let schema = schema.as_object().unwrap_or(&none);
        let rules = self.rules(schema, false, depth)?;
        let shape = match schema.get("type").and_then(Value::as_str) {
            _ if is_on(schema, "x-kubernetes-int-or-string") => Shape::IntOrString(64),
            Some("string") => Shape::String,
            Some("integer") => Shape::Integer(64),
            Some("number") => Shape::Number,
            Some("boolean") => Shape::Boolean,
            Some("array") => match schema.get("items") {
                Some(items) => Shape::List(self.structural(items, depth + 1)?),
                None => Shape::List(self.shapes.push(Shape::Any)),
            },
            Some("object") => {
                let embedded = is_on(schema, "x-kubernetes-embedded-resource").then_some(true);
                self.object(schema, embedded, depth)?
            }
            _ => Shape::Any,
        };
        Some(self.shapes.push_type(Type {
            shape,
            nullable: is_on(schema, "nullable"),
            rules,
        }))
    }

    /// An object; `identity` if it is a Kubernetes object, and whether it has to say so itself.
    fn object(&mut self, schema: &Schema, identity: Option<bool>, depth: usize) -> Option<Shape> {
        let open = is_on(schema, "x-kubernetes-preserve-unknown-fields");
        match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => return Some(Shape::Map(self.shapes.push(Shape::Any))),
            Some(values @ Value::Object(_)) => return Some(Shape::Map(self.structural(values, depth + 1)?)),
            _ => {}
        }
        let mut fields = identity.map_or_else(Vec::new, |required| self.identity(required));
        let is_reserved = |name: &str| identity.is_some() && matches!(name, "apiVersion" | "kind" | "metadata");
        for (name, field) in entries(schema, "properties") {
            if is_reserved(name) {
                continue;
            }
            let default = field.get("default").filter(|default| !default.is_null());
            fields.push(Field {
                name: Cow::Owned(name.clone()),
                of: self.structural(field, depth + 1)?,
                required: default.is_none() && texts(schema, "required").any(|required| required == name),
            });
        }
        Some(Shape::Object(Object::new(fields, open)))
    }

    /// The rules beside the shape; none where there are none. Inside of combinations they go on below (`deep`).
    fn rules(&mut self, schema: &Schema, deep: bool, depth: usize) -> Option<Option<Box<Rules>>> {
        let rules = self.rules_of(schema, deep, depth)?;
        Some((!rules.is_empty()).then(|| Box::new(rules)))
    }

    fn rules_of(&mut self, schema: &Schema, deep: bool, depth: usize) -> Option<Rules> {
        self.enter(depth)?;
        let mut rules = Rules {
            values: list(schema, "enum").to_vec(),
            pattern: schema
                .get("pattern")
                .and_then(Value::as_str)
                .map(|text| Pattern::new(text.to_owned())),
            format: schema.get("format").and_then(Value::as_str).and_then(Format::named),
            length: range(schema, "minLength", "maxLength"),
            items: range(schema, "minItems", "maxItems"),
            entries: range(schema, "minProperties", "maxProperties"),
            least: bound(schema, "minimum", "exclusiveMinimum"),
            most: bound(schema, "maximum", "exclusiveMaximum"),
            multiple_of: schema.get("multipleOf").and_then(Value::as_f64).filter(|of| *of > 0.0),
            unique: unique(schema),
            all: self.combined(schema, "allOf", depth)?,
            any: self.combined(schema, "anyOf", depth)?,
            one: self.combined(schema, "oneOf", depth)?,
            ..Rules::default()
        };
        if let Some(not) = schema.get("not").and_then(Value::as_object) {
            rules.not = Some(Box::new(self.rules_of(not, true, depth + 1)?));
        }
        if deep {
            self.below(schema, &mut rules, depth)?;
        }
        Some(rules)
    }

    fn combined(&mut self, schema: &Schema, keyword: &str, depth: usize) -> Option<Vec<Rules>> {
        let parts = list(schema, keyword).iter().filter_map(Value::as_object);
        parts.map(|part| self.rules_of(part, true, depth + 1)).collect()
    }

    fn below(&mut self, schema: &Schema, rules: &mut Rules, depth: usize) -> Option<()> {
        let kind = schema.get("type").and_then(Value::as_str).and_then(Kind::named);
        rules.types.extend(kind);
        rules.required = texts(schema, "required").map(str::to_owned).collect();
        for (name, field) in entries(schema, "properties") {
            let field = field.as_object().map(|field| self.rules_of(field, true, depth + 1));
            if let Some(field) = field {
                rules.fields.push((name.clone(), field?));
            }
        }
        let each = schema.get("items").or_else(|| schema.get("additionalProperties"));
        if let Some(each) = each.and_then(Value::as_object) {
            rules.each = Some(Box::new(self.rules_of(each, true, depth + 1)?));
        }
        Some(())
    }
}

fn is_on(schema: &Schema, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

fn list<'s>(schema: &'s Schema, keyword: &str) -> &'s [Value] {
    schema.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn texts<'s>(schema: &'s Schema, keyword: &str) -> impl Iterator<Item = &'s str> {
    list(schema, keyword).iter().filter_map(Value::as_str)
}

fn entries<'s>(schema: &'s Schema, keyword: &str) -> impl Iterator<Item = (&'s String, &'s Value)> {
    schema.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

fn range(schema: &Schema, least: &str, most: &str) -> Range {
    let count = |keyword| schema.get(keyword).and_then(Value::as_u64);
    Range {
        least: count(least),
        most: count(most),
    }
}

fn bound(schema: &Schema, keyword: &str, exclusive: &str) -> Option<Bound> {
    Some(Bound {
        number: schema.get(keyword).and_then(Value::as_f64)?,
        exclusive: is_on(schema, exclusive),
    })
}

fn unique(schema: &Schema) -> Option<Unique> {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str)? {
        "set" => Some(Unique::Whole),
        "map" => Some(Unique::Keys(
            texts(schema, "x-kubernetes-list-map-keys").map(str::to_owned).collect(),
        )),
        _ => None,
    }
}
