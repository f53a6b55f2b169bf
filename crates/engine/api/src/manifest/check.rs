//! Validation of manifests against the schemas that `bumpwright crds` prints, as strict validation of an API
//! server does it: unknown and missing fields, invalid values, failed rules; and annotations of ours that their
//! kind does not have.
//!
//! A value with a variable of post-build substitution (`${NAME}`) may become anything and is not checked. Nor is a
//! status, which controllers write.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use super::decode::is_true;
use super::emit::Yaml;
use crate::object::annotations::{ANNOTATION_PREFIX, annotation_hint};
use crate::schema::crd::CustomResource;
use crate::schema::kinds::custom_resources;
use crate::schema::shared::object_meta;
use crate::schema::structural::{Rule, Schema, anything, object, string};
use crate::tree::{Entry, Node, Place, Value};
use bumpwright_cel::Expression;
use bumpwright_nearest::nearest;
use bumpwright_re2::{Budget, Regexp};

/// Steps that matching one pattern may take: some milliseconds.
const MAX_STEPS: u64 = 1 << 20;

/// Values that only the command line supports, by kind, field and prefix: local folders as remotes, and the
/// user's login at Google.
const COMMAND_LINE_ONLY: [(&str, &str, &str); 2] = [
    ("GitRepository", "spec.url", "file://"),
    ("GitRepository", "spec.provider", "gcp"),
];

/// Treatment of fields that the schema of a kind does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    Refuse,
    Allow,
}

/// How strictly a schema is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strictness {
    pub(crate) unknown: UnknownFields,
    /// Whether required fields must be present: an object in a folder may be the base of a kustomization
    /// that adds the rest.
    pub(crate) complete: bool,
}

/// Something that does not fit the schema.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) place: Place,
    /// The field and its fault: `spec.git.psuh is unknown: did you mean push?`
    pub(crate) text: String,
    /// Whether the schema has no such field or annotation.
    pub(crate) is_unknown: bool,
}

/// A kind with the schema that its manifests are checked against.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) resource: CustomResource,
    schema: Schema,
}

impl Definition {
    fn of(resource: CustomResource) -> Self {
        let schema = object()
            .field("apiVersion", string().required())
            .field("kind", string().required())
            .field("metadata", object_meta().required())
            .field("spec", resource.spec.clone())
            .field("status", anything());
        Self { resource, schema }
    }
}

/// The definition of a kind, if bumpwright has a schema for it.
pub(crate) fn definition_of(group: &str, kind: &str) -> Option<&'static Definition> {
    static ALL: LazyLock<Vec<Definition>> =
        LazyLock::new(|| custom_resources().into_iter().map(Definition::of).collect());
    ALL.iter()
        .find(|definition| (definition.resource.group, definition.resource.kind) == (group, kind))
}

/// Violations of the schema, in the order of the text.
pub(crate) fn violations(node: &Node, definition: &Definition, strictness: Strictness) -> Vec<Violation> {
    let mut check = Check {
        kind: definition.resource.kind,
        strictness,
        violations: Vec::new(),
    };
    check.value(node, &definition.schema, "");
    if strictness.unknown == UnknownFields::Refuse {
        check.annotations(node);
    }
    check.violations.sort_by_key(|violation| violation.place);
    check.violations
}

struct Check {
    kind: &'static str,
    strictness: Strictness,
    violations: Vec<Violation>,
}

impl Check {
    fn add(&mut self, place: Place, text: String) {
        self.violations.push(Violation {
            place,
            text,
            is_unknown: false,
        });
    }

    fn add_unknown(&mut self, place: Place, text: String) {
        self.violations.push(Violation {
            place,
            text,
            is_unknown: true,
        });
    }

    /// Checks a value; `field` is its path: `spec.patches[0].target`.
    fn value(&mut self, node: &Node, schema: &Schema, field: &str) {
        let before = self.violations.len();
        if node.is_null() {
            return;
        }
        match (schema.text_of("type"), &node.value) {
            (None, _) => return,
            (Some("object"), Value::Map { entries, .. }) => self.entries(node, entries, schema, field),
            (Some("array"), Value::List { items, .. }) => {
                let (count, most) = (
                    i64::try_from(items.len()).unwrap_or(i64::MAX),
                    number_of(schema, "maxItems"),
                );
                if let Some(most) = most.filter(|most| count > *most) {
                    self.add(
                        node.place,
                        format!("{field} has {count} items, which is more than {most}"),
                    );
                }
                for (index, item) in items.iter().enumerate() {
                    let below = schema.of_all_below();
                    below
                        .iter()
                        .for_each(|below| self.value(item, below, &format!("{field}[{index}]")));
                }
            }
            (Some(wanted), Value::Scalar { text, plain }) if !matches!(wanted, "object" | "array") => {
                let is_beyond = COMMAND_LINE_ONLY
                    .iter()
                    .any(|(kind, of, start)| (*kind, *of) == (self.kind, field) && text.starts_with(start));
                if let Some(fault) = scalar_fault(text, *plain, wanted, schema).filter(|_| !is_beyond) {
                    self.add(node.place, format!("{field} {fault}"));
                }
            }
            (Some(wanted), _) => {
                let wanted = described(wanted);
                self.add(node.place, format!("{field} must be {wanted}, not {}", node.describe()));
            }
        }
        if self.violations.len() == before {
            self.rules(node, schema, field);
        }
    }

    fn entries(&mut self, node: &Node, entries: &[Entry], schema: &Schema, field: &str) {
        let path = |name: &str| match field {
            "" => name.to_owned(),
            field => format!("{field}.{name}"),
        };
        if let Some(below) = schema.of_all_below() {
            for entry in entries {
                self.value(&entry.node, below, &path(entry.name()));
            }
            return;
        }
        for entry in entries {
            match schema.fields.iter().find(|(name, _)| *name == entry.name()) {
                Some((name, below)) => self.value(&entry.node, below, &path(name)),
                None if self.strictness.unknown == UnknownFields::Allow => {}
                None => {
                    let hint = unknown_hint(entry.name(), schema);
                    self.add_unknown(entry.key.place, format!("{} is unknown: {hint}", path(entry.name())));
                }
            }
        }
        let whole = self.strictness.complete;
        for (name, _) in schema.fields.iter().filter(|(_, below)| below.required && whole) {
            if node.field(name).is_none() {
                self.add(node.place, format!("{} is required", path(name)));
            }
        }
    }

    /// Evaluates the CEL rules over the value with defaults, as an API server does.
    fn rules(&mut self, node: &Node, schema: &Schema, field: &str) {
        if schema.rules.is_empty() || !self.strictness.complete || has_variables(node) {
            return;
        }
        let variables = Json::Object(Map::from_iter([("self".to_owned(), json(node, schema))]));
        let holds = |rule: &&Rule| {
            let expression = Expression::parse(rule.expression).ok();
            expression.is_none_or(|expression| expression.evaluate_object(&variables).unwrap_or(false))
        };
        if let Some(broken) = schema.rules.iter().find(|rule| !holds(rule)) {
            self.add(node.place, format!("{field}: {}", broken.message));
        }
    }

    fn annotations(&mut self, node: &Node) {
        let annotations = node
            .field("metadata")
            .and_then(|metadata| metadata.field("annotations"));
        for entry in annotations.into_iter().flat_map(Node::entries) {
            let ours = entry.name().strip_prefix(ANNOTATION_PREFIX);
            if let Some(hint) = ours.and_then(|key| annotation_hint(self.kind, key)) {
                self.add_unknown(
                    entry.key.place,
                    format!("annotation {} is unknown: {hint}", entry.name()),
                );
            }
        }
    }
}

fn unknown_hint(name: &str, schema: &Schema) -> String {
    match nearest(name, schema.fields.iter().map(|(known, _)| *known)) {
        Some(near) => format!("did you mean {near}?"),
        None => "if it is a field of a newer version of Flux, --allow-unknown-fields goes on without it".to_owned(),
    }
}

fn described(kind: &str) -> &'static str {
    match kind {
        "object" => "a mapping",
        "array" => "a list",
        "boolean" => "true or false",
        "integer" => "a whole number",
        _ => "a string",
    }
}

/// The fault of a scalar, worded to follow the field. A number is accepted as a string in its spelling: `tag: 1.10`.
fn scalar_fault(text: &str, plain: bool, wanted: &str, schema: &Schema) -> Option<String> {
    if text.contains("${") {
        return None;
    }
    let is_of_kind = match wanted {
        "boolean" => plain && is_true(text).is_some(),
        "integer" => plain && text.parse::<i64>().is_ok(),
        _ => true,
    };
    if !is_of_kind {
        return Some(format!("must be {}, not {text:?}", described(wanted)));
    }
    if let Some(Yaml::List(values)) = schema.value_of("enum")
        && !values.contains(&Yaml::Text(text.to_owned()))
    {
        let values: Vec<String> = values.iter().map(quoted).collect();
        let values = values.join(", ");
        return Some(format!("is {text:?}, which is not supported; supported: {values}"));
    }
    if let Some(pattern) = schema.text_of("pattern")
        && !matches(pattern, text)
    {
        return Some(format!("is {text:?}, which does not match {pattern}"));
    }
    let bound = |keyword: &str| number_of(schema, keyword);
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(least) = bound("minLength").filter(|least| length < *least) {
        return Some(format!("is {text:?}, which has fewer than {least} characters"));
    }
    if let Some(most) = bound("maxLength").filter(|most| length > *most) {
        return Some(format!("has {length} characters, which is more than {most}"));
    }
    let number = text.parse::<i64>().ok().filter(|_| wanted == "integer")?;
    let least = bound("minimum").filter(|least| number < *least)?;
    Some(format!("is {number}, which is less than {least}"))
}

fn number_of(schema: &Schema, keyword: &str) -> Option<i64> {
    match schema.value_of(keyword) {
        Some(Yaml::Number(number)) => Some(*number),
        _ => None,
    }
}

/// Whether a text matches; false when the steps run out.
fn matches(pattern: &str, text: &str) -> bool {
    let mut budget = Budget::new(MAX_STEPS, 0);
    Regexp::new(pattern).is_ok_and(|regexp| regexp.is_match(text.as_bytes(), &mut budget) == Ok(true))
}

fn quoted(value: &Yaml) -> String {
    match value {
        Yaml::Text(text) => format!("{text:?}"),
        other => format!("{other:?}"),
    }
}

fn has_variables(node: &Node) -> bool {
    node.text().is_some_and(|text| text.contains("${"))
        || node.items().iter().any(|item| has_variables(item))
        || node.entries().iter().any(|entry| has_variables(&entry.node))
}

/// A valid value, with defaults for absent fields.
fn json(node: &Node, schema: &Schema) -> Json {
    match &node.value {
        Value::Alias { .. } => Json::Null,
        Value::Scalar { .. } if node.is_null() => Json::Null,
        Value::Scalar { text, .. } => match schema.text_of("type") {
            Some("boolean") => is_true(text).map_or(Json::Null, Json::Bool),
            Some("integer") => text.parse::<i64>().map_or(Json::Null, Json::from),
            _ => Json::String(text.to_string()),
        },
        Value::List { items, .. } => {
            let below = schema.of_all_below();
            let items = items.iter().filter_map(|item| Some(json(item, below?)));
            Json::Array(items.collect())
        }
        Value::Map { entries, .. } => {
            let mut fields: Map<String, Json> = defaults(schema);
            for entry in entries.iter().filter(|entry| !entry.node.is_null()) {
                let field = schema.fields.iter().find(|(name, _)| *name == entry.name());
                if let Some(below) = field.map(|(_, below)| below).or(schema.of_all_below()) {
                    fields.insert(entry.name().to_owned(), json(&entry.node, below));
                }
            }
            Json::Object(fields)
        }
    }
}

pub(crate) fn defaults(schema: &Schema) -> Map<String, Json> {
    let default = |(name, field): &(&str, Schema)| {
        let value = field.value_of("default")?;
        Some(((*name).to_owned(), json_of(value)))
    };
    schema.fields.iter().filter_map(default).collect()
}

fn json_of(value: &Yaml) -> Json {
    match value {
        Yaml::Text(text) => Json::from(text.as_str()),
        Yaml::Number(number) => Json::from(*number),
        Yaml::Flag(flag) => Json::from(*flag),
        Yaml::List(items) => items.iter().map(json_of).collect(),
        Yaml::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.clone(), json_of(value)));
            Json::Object(entries.collect())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::tree::parse;

    /// The faults of an object, each with its place.
    fn said(text: &str, unknown: UnknownFields) -> Vec<String> {
        let (documents, error) = parse(text);
        assert!(error.is_none(), "{error:?}");
        let kind = documents[0].field_text("kind").unwrap();
        let (group, _) = documents[0].field_text("apiVersion").unwrap().split_once('/').unwrap();
        let definition = definition_of(group, kind).unwrap();
        let violations = violations(
            &documents[0],
            definition,
            Strictness {
                unknown,
                complete: true,
            },
        );
        violations
            .iter()
            .map(|Violation { place, text, .. }| format!("{}:{}: {text}", place.line, place.column))
            .collect()
    }

    const AUTOMATION: &str = "\
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageUpdateAutomation
metadata: {name: a}
spec:
  interval: 5m
  sourceRef: {kind: GitRepository, name: a}
  git:
    commit: {author: {email: a@example.com}}
    push: {branch: main}
";

    #[test]
    fn each_misfit_has_its_place_and_what_was_meant() {
        assert_eq!(said(AUTOMATION, UnknownFields::Refuse), Vec::<String>::new());
        let hint = "if it is a field of a newer version of Flux, --allow-unknown-fields goes on without it";
        for (from, to, expected) in [
            (
                "    push:",
                "    psuh:",
                "9:5: spec.git.psuh is unknown: did you mean push?",
            ),
            (
                "    push:",
                "    rollout:",
                &format!("9:5: spec.git.rollout is unknown: {hint}"),
            ),
            (
                "5m",
                "5d",
                "5:13: spec.interval is \"5d\", which does not match ^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$",
            ),
            (
                "kind: GitRepository",
                "kind: Git",
                "6:21: spec.sourceRef.kind is \"Git\", which is not supported; supported: \"GitRepository\"",
            ),
            ("email", "mail", "8:22: spec.git.commit.author.email is required"),
            (
                "{branch: main}",
                "[main]",
                "9:11: spec.git.push must be a mapping, not a list",
            ),
            (
                "metadata: {name: a}",
                "metadata: {nam: a}",
                "3:12: metadata.nam is unknown: did you mean name?",
            ),
            (
                "spec:\n",
                "Spec: {}\nspec:\n",
                "4:1: Spec is unknown: did you mean spec?",
            ),
            (
                "spec:\n",
                "spec:\n  suspend: maybe\n",
                "5:12: spec.suspend must be true or false, not \"maybe\"",
            ),
            (
                "{name: a}\nspec",
                "{name: a, annotations: {bumpwright.dev/dryRun: 'true'}}\nspec",
                "3:35: annotation bumpwright.dev/dryRun is unknown: did you mean bumpwright.dev/dry-run?",
            ),
        ] {
            let text = AUTOMATION.replacen(from, to, 1);
            assert_ne!(text, AUTOMATION, "{from}");
            let found = said(&text, UnknownFields::Refuse);
            assert!(found.iter().any(|line| line == expected), "{to}: {found:#?}");
        }
    }

    #[test]
    fn what_only_a_cluster_knows_is_left_open() {
        let text = AUTOMATION
            .replace("5m", "${INTERVAL:=5m}")
            .replace("spec:\n", "status: {later: 1}\nspec:\n  suspend: ${SUSPEND}\n");
        assert_eq!(said(&text, UnknownFields::Refuse), Vec::<String>::new());
        let newer = AUTOMATION.replace("    push:", "    psuh:");
        assert_eq!(said(&newer, UnknownFields::Allow), Vec::<String>::new());
    }

    #[test]
    fn rules_see_defaults() {
        let text = |more: &str| {
            format!(
                "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: a}}\n\
                 spec: {{interval: 5m, prune: true, sourceRef: {{kind: GitRepository, name: a}}, kubeConfig: {more}}}\n"
            )
        };
        let one = "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified";
        assert_eq!(
            said(&text("{secretRef: {name: a}}"), UnknownFields::Refuse),
            Vec::<String>::new()
        );
        for wrong in ["{}", "{secretRef: {name: a}, configMapRef: {name: b}}"] {
            let found = said(&text(wrong), UnknownFields::Refuse);
            assert!(found.len() == 1 && found[0].ends_with(one), "{found:?}");
        }
    }

    /// A pattern or a rule that cannot be read would let everything pass.
    #[test]
    fn all_patterns_and_rules_can_be_read() {
        fn read(schema: &Schema, count: &mut usize) {
            if let Some(pattern) = schema.text_of("pattern") {
                Regexp::new(pattern).unwrap();
                *count += 1;
            }
            for rule in &schema.rules {
                Expression::parse(rule.expression).unwrap();
                *count += 1;
            }
            let below = schema
                .fields
                .iter()
                .map(|(_, field)| field)
                .chain(schema.of_all_below());
            below.for_each(|below| read(below, count));
        }
        let mut count = 0;
        custom_resources()
            .iter()
            .for_each(|definition| read(&definition.spec, &mut count));
        assert!(count > 20, "{count}");
    }
}
