//! Whether an object has drifted: compares the server's dry run with the stored
//! object (fluxcd/pkg `ssa`, *manager_diff*).

use serde_json::{Map, Value};

use crate::object::metadata::texts;
use bumpwright_json::Texts;
use bumpwright_text::pointer::unescaped;

/// Returns whether applying would change more than the status or metadata other than labels and annotations.
pub(crate) fn has_drifted(existing: &Value, dry_run: &Value) -> bool {
    let differs = |field| texts(existing, field) != texts(dry_run, field);
    differs("labels") || differs("annotations") || compared(existing) != compared(dry_run)
}

/// The compared fields, by name.
fn compared(object: &Value) -> Vec<(&String, std::borrow::Cow<'_, Value>)> {
    use std::borrow::Cow;
    let is_autoscaler = object.get("kind").is_some_and(|kind| kind == "HorizontalPodAutoscaler");
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"));
    fields
        .map(|(name, value)| match name.as_str() {
            "spec" if is_autoscaler => (name, Cow::Owned(with_metrics_once(value))),
            _ => (name, Cow::Borrowed(value)),
        })
        .collect()
}

/// API servers before 1.27 return the first metric twice in a dry run, and an empty one at the end.
fn with_metrics_once(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(metrics) = spec.get_mut("metrics").and_then(Value::as_array_mut) {
        let mut distinct: Vec<Value> = Vec::new();
        metrics.retain(|metric| {
            let is_empty = metric.text_of("type").is_empty();
            let is_new = !is_empty && !distinct.contains(metric);
            if is_new {
                distinct.push(metric.clone());
            }
            is_new
        });
    }
    spec
}

/// Removes the field of an object at a JSON pointer, if it exists.
pub(crate) fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&*unescaped(last));
        }
        Some(Value::Array(items)) => {
            if let Some(index) = index(last, items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

/// Sets the field of an object at a JSON pointer, creating maps on the way. Does nothing where a list
/// has no such index.
pub(crate) fn put(object: &mut Value, pointer: &str, value: Value) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    if object.pointer(parent).is_none() {
        put(object, parent, Map::new().into());
    }
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.insert(unescaped(last).into_owned(), value);
        }
        Some(Value::Array(items)) => {
            if let Some(item) = index(last, items.len()).and_then(|index| items.get_mut(index)) {
                *item = value;
            }
        }
        _ => {}
    }
}

/// The index in a list; negative ones count from its end.
fn index(segment: &str, length: usize) -> Option<usize> {
    let index = segment.parse::<i64>().ok()?;
    let index = if index < 0 {
        index.checked_add(i64::try_from(length).ok()?)?
    } else {
        index
    };
    usize::try_from(index).ok().filter(|index| *index < length)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_some_metadata_count() {
        let base =
            json!({"kind": "X", "metadata": {"generation": 1, "finalizers": []}, "spec": {"a": 1}, "status": {"x": 1}});
        for (change, drifted) in [
            (json!({"metadata": {"generation": 2}}), false),
            (
                json!({"metadata": {"finalizers": ["a/b"], "ownerReferences": []}}),
                false,
            ),
            (json!({"status": {"x": 2}}), false),
            (json!({"metadata": {"labels": {}}}), false),
            (json!({"metadata": {"labels": {"a": "b"}}}), true),
            (json!({"metadata": {"annotations": {"a": "b"}}}), true),
            (json!({"spec": {"a": 2}}), true),
            (json!({"data": {}}), true),
        ] {
            let mut other = base.clone();
            if let (Some(other), Some(change)) = (other.as_object_mut(), change.as_object()) {
                other.extend(change.clone());
            }
            assert_eq!(has_drifted(&base, &other), drifted, "{change}");
        }
    }

    #[test]
    fn metrics_of_old_servers_are_taken_once() {
        let metric = json!({"type": "Resource", "resource": {"name": "cpu"}});
        let spec = |metrics: &[Value]| json!({"kind": "HorizontalPodAutoscaler", "spec": {"metrics": metrics}});
        let dry_run = spec(&[metric.clone(), metric.clone(), json!({"type": ""})]);
        assert!(!has_drifted(&spec(&[metric]), &dry_run));
    }

    #[test]
    fn fields_are_removed_and_put() {
        let mut object = json!({"a": {"b/c": 1}, "l": [1, 2, 3]});
        for pointer in ["/a/b~1c", "/l/-1", "/l/7", "/nowhere/at/all", ""] {
            remove(&mut object, pointer);
        }
        assert_eq!(object, json!({"a": {}, "l": [1, 2]}));
        put(&mut object, "/a/x/y", json!(true));
        put(&mut object, "/l/1", json!(9));
        put(&mut object, "/l/5", json!(9));
        assert_eq!(object, json!({"a": {"x": {"y": true}}, "l": [1, 9]}));
    }
}
