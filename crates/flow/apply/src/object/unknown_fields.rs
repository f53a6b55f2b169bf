//! Fields that a built-in kind does not have. Flux drops them in silence, since Go's types do; server-side apply
//! refuses them. Here they are dropped by the server's own schema, and reported (docs/decisions.md, *unknown
//! fields in built-in kinds*).

use serde_json::{Map, Value};

use bumpwright_kube::GroupVersionKind;

/// Removes the fields that the object's kind does not have; returns their paths. `document` is the server's OpenAPI
/// document of the group and version.
pub(crate) fn drop_unknown(object: &mut Value, gvk: &GroupVersionKind, document: &Value) -> Vec<String> {
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let Some(schemas) = schemas else { return Vec::new() };
    let is_kind = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        let mut kinds = kinds.into_iter().flatten();
        kinds.any(|kind| kind["group"] == gvk.group && kind["version"] == gvk.version && kind["kind"] == gvk.kind)
    };
    let mut dropped = Vec::new();
    if let Some(schema) = schemas.values().find(is_kind) {
        let schemas = Schemas(schemas);
        schemas.drop(object, schema, &mut String::new(), &mut dropped);
    }
    dropped
}

struct Schemas<'a>(&'a Map<String, Value>);

impl<'a> Schemas<'a> {
    fn drop(&self, value: &mut Value, schema: &'a Value, path: &mut String, dropped: &mut Vec<String>) {
        let schema = self.resolved(schema);
        let length = path.len();
        match value {
            Value::Object(fields) => {
                if let Some(known) = known_fields(schema) {
                    let (kept, unknown): (Vec<_>, Vec<_>) = std::mem::take(fields)
                        .into_iter()
                        .partition(|(name, _)| known.contains_key(name));
                    dropped.extend(unknown.iter().map(|(name, _)| join(path, name)));
                    fields.extend(kept);
                }
                for (name, value) in fields {
                    if let Some(schema) = below(schema, name) {
                        *path = join(path, name);
                        self.drop(value, schema, path, dropped);
                        path.truncate(length);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.get("items") else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    path.push_str(&format!("[{index}]"));
                    self.drop(item, schema, path, dropped);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The schema that a schema refers to: `$ref` alone, or in `allOf` beside a description.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let reference = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"));
        let name = reference
            .and_then(Value::as_str)
            .and_then(|path| path.rsplit('/').next());
        name.and_then(|name| self.0.get(name)).unwrap_or(schema)
    }
}

/// The properties of a schema; None when any field is allowed.
fn known_fields(schema: &Value) -> Option<&Map<String, Value>> {
    let is_open = schema.get("additionalProperties").is_some()
        || schema
            .get("x-kubernetes-preserve-unknown-fields")
            .is_some_and(|keeps| keeps == true);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.filter(|_| !is_open)
}

fn below<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let own = schema.get("properties").and_then(|known| known.get(name));
    own.or_else(|| schema.get("additionalProperties"))
}

fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_no_schema_has_is_dropped() {
        let reference =
            |name: &str| json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}], "default": {}});
        let document = json!({"components": {"schemas": {
            "Thing": {
                "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Thing"}],
                "properties": {"kind": {}, "spec": reference("Spec"), "free": {"type": "object"}},
            },
            "Spec": {"properties": {
                "parts": {"type": "array", "items": reference("Part")},
                "byName": {"type": "object", "additionalProperties": reference("Part")},
            }},
            "Part": {"properties": {"name": {"type": "string"}}},
        }}});
        let gvk = GroupVersionKind {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            kind: "Thing".to_owned(),
        };
        let part = || json!({"name": "a", "colour": "red"});
        let mut object = json!({"kind": "Thing", "free": {"any": 1}, "top": 1,
            "spec": {"parts": [{"name": "z"}, part()], "byName": {"x": part()}}});
        let mut dropped = drop_unknown(&mut object, &gvk, &document);
        dropped.sort();
        assert_eq!(dropped, ["spec.byName.x.colour", "spec.parts[1].colour", "top"]);
        let part = json!({"name": "a"});
        let expected = json!({"kind": "Thing", "free": {"any": 1},
            "spec": {"parts": [{"name": "z"}, part.clone()], "byName": {"x": part}}});
        assert_eq!(object, expected);
    }
}
