//! The CEL rules of the kinds' schemas over built objects.

use serde_json::{Map, Value};

use super::structural::{Rule, Schema};
use crate::manifest::check::{defaults, definition_of};
use crate::object::object_id::group_kind;
use bumpwright_cel::Expression;
use bumpwright_text::pointer::escaped;

/// The rules that an object of ours breaks, each with the JSON pointer of its value and its message. An object of
/// another kind, or a value with variables, breaks none.
#[must_use]
pub fn broken_rules(object: &Value) -> Vec<(String, String)> {
    let (group, kind) = group_kind(object);
    let mut broken = Vec::new();
    if let Some((definition, spec)) = definition_of(group, kind).zip(object.get("spec")) {
        walk(spec, &definition.resource.spec, "/spec", &mut broken);
    }
    broken
}

fn walk(value: &Value, schema: &Schema, pointer: &str, broken: &mut Vec<(String, String)>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                let field = schema.fields.iter().find(|(field, _)| field == name);
                if let Some(below) = field.map(|(_, below)| below).or(schema.of_all_below()) {
                    let name = escaped(name);
                    walk(value, below, &format!("{pointer}/{name}"), broken);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                if let Some(below) = schema.of_all_below() {
                    walk(item, below, &format!("{pointer}/{at}"), broken);
                }
            }
        }
        _ => {}
    }
    if schema.rules.is_empty() || has_variables(value) {
        return;
    }
    let variables = Value::Object(Map::from_iter([("self".to_owned(), with_defaults(value, schema))]));
    let holds = |rule: &&Rule| {
        let expression = Expression::parse(rule.expression).ok();
        expression.is_none_or(|expression| expression.evaluate_object(&variables).unwrap_or(false))
    };
    if let Some(rule) = schema.rules.iter().find(|rule| !holds(rule)) {
        let field = pointer.trim_start_matches('/').replace('/', ".");
        broken.push((pointer.to_owned(), format!("{field}: Invalid value: {}", rule.message)));
    }
}

fn has_variables(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("${"),
        Value::Array(items) => items.iter().any(has_variables),
        Value::Object(entries) => entries.values().any(has_variables),
        _ => false,
    }
}

/// The value with defaults for absent fields, as an API server evaluates it.
fn with_defaults(value: &Value, schema: &Schema) -> Value {
    match value {
        Value::Object(entries) => {
            let mut fields = defaults(schema);
            for (name, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
                let field = schema.fields.iter().find(|(field, _)| field == name);
                let value = match field.map(|(_, below)| below).or(schema.of_all_below()) {
                    Some(below) => with_defaults(value, below),
                    None => value.clone(),
                };
                fields.insert(name.clone(), value);
            }
            Value::Object(fields)
        }
        Value::Array(items) => match schema.of_all_below() {
            Some(below) => items.iter().map(|item| with_defaults(item, below)).collect(),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_is_broken_by_the_value_with_its_defaults() {
        let policy = |spec: Value| {
            let whole = json!({"apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy", "metadata": {"name": "a"}, "spec": spec});
            broken_rules(&whole)
        };
        assert_eq!(policy(json!({"policy": {"semver": {"range": "*"}}})), []);
        let said =
            "spec: Invalid value: spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'";
        assert_eq!(
            policy(json!({"interval": "5m"})),
            [("/spec".to_owned(), said.to_owned())]
        );
        assert_eq!(policy(json!({"interval": "${x}"})), []);
        assert_eq!(broken_rules(&json!({"kind": "Pod", "spec": {"interval": "5m"}})), []);
    }
}
