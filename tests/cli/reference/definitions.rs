//! The fields of our definitions, from their schemas: a page for each kind.

use std::fmt::Write;

use bumpwright_api::{CustomResource, custom_resources};
use serde_json::Value;

use super::markdown::{generated, item, sentence};

/// The pages in `crds/`.
pub fn pages() -> Vec<(String, String)> {
    let definitions: Vec<Value> = custom_resources().iter().map(read).collect();
    let mut index = "# Kinds\n\n".to_owned();
    index.push_str(&generated("the definitions"));
    index.push_str(
        "`bumpwright crds` prints the definitions. All versions of a kind have one schema and are stored as v1: see *versions* in\n\
         [decisions](../../decisions.md).\n\n| kind | group | versions | short names |\n|---|---|---|---|\n",
    );
    let mut pages = Vec::new();
    for definition in &definitions {
        let names = &definition["spec"]["names"];
        let (kind, singular) = (text(&names["kind"]), text(&names["singular"]));
        let versions = definition["spec"]["versions"].as_array().unwrap();
        let versions: Vec<&str> = versions.iter().map(|version| text(&version["name"])).collect();
        let group = text(&definition["spec"]["group"]);
        let short: Vec<&str> = names["shortNames"].as_array().into_iter().flatten().map(text).collect();
        let (of, short) = (versions.join(", "), short.join(", "));
        writeln!(index, "| [{kind}]({singular}.md) | {group} | {of} | {short} |").unwrap();
        pages.push((format!("crds/{singular}.md"), page(kind, group, &of, definition)));
    }
    pages.push(("crds/README.md".to_owned(), index));
    pages
}

fn read(definition: &CustomResource) -> Value {
    serde_saphyr::from_str(&definition.to_yaml()).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn page(kind: &str, group: &str, versions: &str, definition: &Value) -> String {
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut page = format!("# {kind}\n\n");
    page.push_str(&generated("the definitions"));
    writeln!(page, "Group `{group}`; versions {versions}.").unwrap();
    for part in ["spec", "status"] {
        let field = &schema["properties"][part];
        write!(page, "\n## {part}\n\n").unwrap();
        rules(part, field, &mut page);
        fields(part, field, &mut page);
    }
    page
}

/// The fields of an object, and those below them.
fn fields(path: &str, schema: &Value, page: &mut String) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().map(text).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let mut path = format!("{path}.{name}");
        let (kind, below) = kind_of(field);
        let mut facts = vec![kind];
        if required.contains(&name.as_str()) {
            facts.push("required".to_owned());
        }
        facts.extend(limits(field));
        page.push_str(&item(
            &path,
            &format!("{}. {}", facts.join(", "), sentence(text(&field["description"]))),
        ));
        path.push_str(below_mark(field));
        rules(&path, below, page);
        fields(&path, below, page);
    }
}

/// The type of a field, and the schema of what is below it: its own, or that of items or values.
fn kind_of(field: &Value) -> (String, &Value) {
    let word = |schema: &Value| match (text(&schema["type"]), text(&schema["format"])) {
        ("", _) if schema["x-kubernetes-int-or-string"] == true => "integer or string".to_owned(),
        ("", _) => "any value".to_owned(),
        (kind, "") => kind.to_owned(),
        (kind, format) => format!("{kind} ({format})"),
    };
    match (&field["items"], &field["additionalProperties"]) {
        (Value::Null, Value::Null) => (word(field), field),
        (Value::Null, values) => (format!("map of {}", word(values)), values),
        (items, _) => (format!("list of {}", word(items)), items),
    }
}

fn below_mark(field: &Value) -> &'static str {
    match (&field["items"], &field["additionalProperties"]) {
        (Value::Null, Value::Null) => "",
        (Value::Null, _) => ".*",
        _ => "[]",
    }
}

/// Default, values and bounds.
fn limits(field: &Value) -> Vec<String> {
    let mut limits = Vec::new();
    let below = if field["items"].is_null() {
        field
    } else {
        &field["items"]
    };
    if let Some(values) = below["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{}`", text(value))).collect();
        limits.push(format!("one of {}", values.join(", ")));
    }
    if !field["default"].is_null() {
        limits.push(format!("default `{}`", field["default"].to_string().trim_matches('"')));
    }
    for (key, word) in [
        ("pattern", "pattern"),
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "length at least"),
        ("maxLength", "length at most"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("maxProperties", "entries at most"),
    ] {
        let limit = if field[key].is_null() { &below[key] } else { &field[key] };
        if !limit.is_null() {
            limits.push(format!(
                "{word} `{}`",
                limit.as_str().map_or(limit.to_string(), str::to_owned)
            ));
        }
    }
    limits
}

/// The rules over an object as a whole, by their messages.
fn rules(path: &str, schema: &Value, page: &mut String) {
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    let mut messages: Vec<&str> = rules.map(|rule| text(&rule["message"])).collect();
    messages.dedup();
    for message in messages {
        page.push_str(&item(path, &format!("has a rule: {}", sentence(message))));
    }
}

/// What is in the schema is on the page.
#[test]
fn each_field_is_named() {
    let all: String = pages().into_iter().map(|(_, text)| text).collect();
    for field in [
        "spec.policy.semver.range",
        "spec.git.push.options",
        "spec.patches[].target.labelSelector",
        "spec.secretRef.name",
        "status.conditions[].lastTransitionTime",
    ] {
        assert!(all.contains(&format!("- **`{field}`**")), "{field}");
    }
}
