//! Leftovers in an object's metadata: field managers that an apply replaces, and annotations and labels of older tools
//! (fluxcd/pkg `ssa`, *patch*; K-167).

use serde_json::{Map, Value, json};

use crate::object::metadata::texts;
use bumpwright_json::Texts;
use bumpwright_text::pointer::escaped;

/// A field manager and its operation, `Apply` or `Update`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manager {
    name: String,
    /// Whether all whose names begin with this one count, too.
    is_prefix: bool,
    operation: &'static str,
}

impl Manager {
    fn is(&self, name: &str, operation: &str) -> bool {
        let is_named = if self.is_prefix {
            name.starts_with(&self.name)
        } else {
            name == self.name
        };
        is_named && self.operation == operation
    }
}

/// `kubectl apply` in its two variants, the controllers before they applied server-side,
/// and those of `--override-manager`.
pub(crate) fn replaced(manager: &str, overridden: &[String]) -> Vec<Manager> {
    let replaced = [
        ("kubectl", "Apply"),
        ("kubectl", "Update"),
        ("before-first-apply", "Update"),
        (manager, "Update"),
    ];
    let overridden = overridden
        .iter()
        .flat_map(|name| [(name.as_str(), "Apply"), (name.as_str(), "Update")]);
    replaced
        .into_iter()
        .chain(overridden)
        .map(|(name, operation)| Manager {
            name: name.to_owned(),
            is_prefix: true,
            operation,
        })
        .collect()
}

/// Those of `--override-manager-before-dry-run`: by their whole name, since a wrong one loses its fields
/// before anything is checked.
fn taken_over(names: &[String]) -> Vec<Manager> {
    let both = names
        .iter()
        .flat_map(|name| ["Apply", "Update"].map(|operation| (name, operation)));
    both.map(|(name, operation)| Manager {
        name: name.clone(),
        is_prefix: false,
        operation,
    })
    .collect()
}

/// The JSON patch by which `manager` takes over the fields of the named managers; none when they have none.
pub(crate) fn take_over(existing: &Value, manager: &str, names: &[String]) -> Option<Value> {
    replace(existing, manager, &taken_over(names)).map(|patch| Value::Array(vec![patch]))
}

const ANNOTATIONS: [&str; 3] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kustomize.toolkit.fluxcd.io/checksum",
    "fluxcd.io/sync-checksum",
];
const LABELS: [&str; 1] = ["fluxcd.io/sync-gc-mark"];

/// The JSON patch that removes all leftovers from the server's object; empty when there are none.
pub(crate) fn cleanup(existing: &Value, manager: &str, managers: &[Manager]) -> Vec<Value> {
    let remove = |field: &str, keys: &[&str]| {
        let present = texts(existing, field);
        let keys = keys.iter().filter(|key| present.contains_key(**key));
        keys.map(|key| json!({"op": "remove", "path": format!("/metadata/{field}/{}", escaped(key))}))
            .collect::<Vec<_>>()
    };
    let mut patch = remove("annotations", &ANNOTATIONS);
    patch.extend(remove("labels", &LABELS));
    patch.extend(replace(existing, manager, managers));
    patch
}

/// Moves the fields of other managers to `manager`.
fn replace(existing: &Value, manager: &str, managers: &[Manager]) -> Option<Value> {
    let entries = entries(existing);
    let text = |entry: &Value, field: &str| entry.text_of(field).to_owned();
    let is_ours = |entry: &Value| text(entry, "manager") == manager && text(entry, "operation") == "Apply";
    let is_replaced = |entry: &Value| {
        let (name, operation) = (text(entry, "manager"), text(entry, "operation"));
        text(entry, "subresource").is_empty() && managers.iter().any(|each| each.is(&name, &operation))
    };
    let ours = entries.iter().rposition(is_ours);
    let mut merged = ours.and_then(|index| entries.get(index).cloned());
    let mut remaining = Vec::new();
    let mut edited = false;
    for (_, entry) in entries.iter().enumerate().filter(|(index, _)| Some(*index) != ours) {
        if !is_replaced(entry) {
            remaining.push(entry.clone());
            continue;
        }
        edited = true;
        match &mut merged {
            Some(merged) => take_fields(merged, entry),
            // The first entry becomes ours.
            None => merged = Some(renamed(entry, manager)),
        }
    }
    remaining.extend(merged);
    edited.then(|| json!({"op": "replace", "path": "/metadata/managedFields", "value": remaining}))
}

fn renamed(entry: &Value, manager: &str) -> Value {
    let mut entry = entry.clone();
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("manager".to_owned(), manager.into());
        entry.insert("operation".to_owned(), "Apply".into());
    }
    entry
}

fn take_fields(into: &mut Value, from: &Value) {
    let fields = |entry: &Value| entry.get("fieldsV1").and_then(Value::as_object).cloned();
    let union = match (fields(into), fields(from)) {
        (Some(a), Some(b)) => union(a, b),
        (a, b) => a.or(b).unwrap_or_default(),
    };
    if let Some(into) = into.as_object_mut() {
        into.insert("fieldsV1".to_owned(), union.into());
    }
}

/// The union of two sets of fields (structured-merge-diff, `fieldpath.Set`). A field is in the set when it has no
/// children, or has a dot among them.
fn union(mut a: Map<String, Value>, b: Map<String, Value>) -> Map<String, Value> {
    for (key, theirs) in b {
        let Some(ours) = a.get_mut(&key) else {
            a.insert(key, theirs);
            continue;
        };
        if let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) {
            let itself = ours.is_empty() || theirs.is_empty();
            let is_leaf = ours.is_empty() && theirs.is_empty();
            *ours = union(std::mem::take(ours), theirs);
            if itself && !is_leaf {
                ours.insert(".".to_owned(), json!({}));
            }
        }
    }
    a
}

/// Migrates the version of all entries, so that fields with defaults of a newer one can
/// be applied (gate `MigrateAPIVersion`).
pub(crate) fn migrate(existing: &Value, api_version: &str) -> Option<Value> {
    let mut entries = entries(existing);
    let mut changed = false;
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        let version = entry.get("apiVersion").and_then(Value::as_str);
        if version != Some(api_version) {
            entry.insert("apiVersion".to_owned(), api_version.into());
            changed = true;
        }
    }
    changed.then(|| json!([{"op": "replace", "path": "/metadata/managedFields", "value": entries}]))
}

fn entries(existing: &Value) -> Vec<Value> {
    let entries = existing.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.into_iter().flatten().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields})
    }

    fn object(entries: &[Value]) -> Value {
        json!({"metadata": {"managedFields": entries}})
    }

    fn cleaned(entries: &[Value]) -> Vec<Value> {
        let managers = replaced("kustomize-controller", &["helm".to_owned()]);
        cleanup(&object(entries), "kustomize-controller", &managers)
    }

    #[test]
    fn fields_of_kubectl_become_ours() {
        let fields = json!({"f:data": {"f:a": {}}});
        let others = entry("hpa", "Update", &fields);
        let patch = cleaned(&[entry("kubectl-client-side-apply", "Update", &fields), others.clone()]);
        let value = json!([others, entry("kustomize-controller", "Apply", &fields)]);
        let expected = json!({"op": "replace", "path": "/metadata/managedFields", "value": value});
        assert_eq!(patch, [expected]);
    }

    #[test]
    fn fields_are_united_with_those_that_are_ours() {
        let theirs = entry("helm", "Update", &json!({"f:data": {"f:a": {}, "f:b": {}}, "f:x": {}}));
        let ours = entry(
            "kustomize-controller",
            "Apply",
            &json!({"f:data": {".": {}, "f:a": {}}, "f:x": {"f:y": {}}}),
        );
        let patch = cleaned(&[theirs, ours]);
        let fields = patch.first().and_then(|patch| patch.pointer("/value/0/fieldsV1"));
        let expected = json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}, "f:x": {".": {}, "f:y": {}}});
        assert_eq!(fields, Some(&expected));
    }

    #[test]
    fn others_and_subresources_stay() {
        let mut status = entry("kubectl-edit", "Update", &json!({}));
        if let Some(status) = status.as_object_mut() {
            status.insert("subresource".to_owned(), "status".into());
        }
        assert!(cleaned(&[status, entry("flux-client-side-apply", "Apply", &json!({}))]).is_empty());
    }

    /// `--override-manager-before-dry-run`.
    #[test]
    fn a_manager_is_taken_over_by_its_whole_name() {
        let fields = json!({"f:data": {"f:a": {}}});
        let others = entry("helm-controller", "Update", &fields);
        let object = object(&[entry("helm", "Update", &fields), others.clone()]);
        let names = ["helm".to_owned()];
        let value = json!([others, entry("kustomize-controller", "Apply", &fields)]);
        let expected = json!([{"op": "replace", "path": "/metadata/managedFields", "value": value}]);
        assert_eq!(take_over(&object, "kustomize-controller", &names), Some(expected));
        assert_eq!(take_over(&object, "kustomize-controller", &["hel".to_owned()]), None);
    }

    #[test]
    fn annotations_and_labels_of_older_tools_go() {
        let object = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"},
            "labels": {"fluxcd.io/sync-gc-mark": "x"}}});
        let patch = cleanup(&object, "kustomize-controller", &[]);
        let paths = [
            "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
            "/metadata/labels/fluxcd.io~1sync-gc-mark",
        ];
        let expected = paths.map(|path| json!({"op": "remove", "path": path}));
        assert_eq!(patch, expected);
    }
}
