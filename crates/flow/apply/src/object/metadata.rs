//! Labels and annotations: the owner of an object, and per-object settings.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use bumpwright_api::ObjectName;

/// The group of the labels and annotations.
pub(crate) const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// A setting by label or annotation (K-024, K-162 to K-174): the part of the key after the group, and the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish(&'static str, &'static str);

pub(crate) const RECONCILE_DISABLED: Wish = Wish("reconcile", "disabled");
pub(crate) const PRUNE_DISABLED: Wish = Wish("prune", "disabled");
pub(crate) const DECRYPT_DISABLED: Wish = Wish("decrypt", "disabled");
pub(crate) const FORCE_ENABLED: Wish = Wish("force", "enabled");
pub(crate) const SSA_IGNORE: Wish = Wish("ssa", "ignore");
pub(crate) const SSA_IF_NOT_PRESENT: Wish = Wish("ssa", "IfNotPresent");
pub(crate) const SSA_MERGE: Wish = Wish("ssa", "Merge");

impl Wish {
    /// Returns whether a label or an annotation has it, in any case of letters.
    pub(crate) fn is_in(self, object: &Value) -> bool {
        ["labels", "annotations"]
            .into_iter()
            .any(|field| self.is_in_field(object, field))
    }

    /// Returns whether one of the annotations has it.
    pub(crate) fn is_annotated(self, object: &Value) -> bool {
        self.is_in_field(object, "annotations")
    }

    fn is_in_field(self, object: &Value, field: &str) -> bool {
        let value = texts(object, field).remove(format!("{GROUP}/{}", self.0).as_str());
        value.is_some_and(|value| value.eq_ignore_ascii_case(self.1))
    }
}

/// The labels or annotations of an object. As in apimachinery null is an empty text, and if one value is not a
/// text there are none.
pub(crate) fn texts<'a>(object: &'a Value, field: &str) -> BTreeMap<&'a str, &'a str> {
    let fields = object.get("metadata").and_then(|metadata| metadata.get(field));
    let fields = fields.and_then(Value::as_object).into_iter().flatten();
    let text = |value: &'a Value| if value.is_null() { Some("") } else { value.as_str() };
    let texts = fields.map(|(key, value)| Some((key.as_str(), text(value)?)));
    texts.collect::<Option<_>>().unwrap_or_default()
}

/// The label keys of the owner's name and namespace.
pub(crate) fn owner_labels(owner: &ObjectName) -> BTreeMap<String, String> {
    [("name", &owner.name), ("namespace", &owner.namespace)]
        .map(|(part, value)| (format!("{GROUP}/{part}"), value.clone()))
        .into()
}

/// A selector for the objects of an owner.
pub(crate) fn owner_selector(owner: &ObjectName) -> String {
    let labels = owner_labels(owner).into_iter();
    labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(",")
}

/// A selector for the objects of all owners.
pub(crate) fn owned_selector() -> String {
    format!("{GROUP}/name,{GROUP}/namespace")
}

/// Returns whether the labels of an object are those of its owner.
pub(crate) fn is_owned(object: &Value, owner: &ObjectName) -> bool {
    let labels = texts(object, "labels");
    let mut wanted = owner_labels(owner).into_iter();
    wanted.all(|(key, value)| labels.get(key.as_str()) == Some(&value.as_str()))
}

/// Sets labels or annotations. Returns whether others had to be dropped because one of them was not a text.
pub(crate) fn set(object: &mut Value, field: &str, values: &BTreeMap<String, String>) -> bool {
    if values.is_empty() {
        return false;
    }
    let texts = texts(object, field).into_iter();
    let mut merged: Map<String, Value> = texts.map(|(key, value)| (key.to_owned(), value.into())).collect();
    merged.extend(values.iter().map(|(key, value)| (key.clone(), value.as_str().into())));
    let Some(object) = object.as_object_mut() else {
        return false;
    };
    let metadata = object.entry("metadata").or_insert_with(|| Map::new().into());
    let Some(metadata) = metadata.as_object_mut() else {
        return false;
    };
    let before = metadata.insert(field.to_owned(), merged.into());
    let before = before.as_ref().and_then(Value::as_object).into_iter().flatten();
    before
        .into_iter()
        .any(|(_, value)| !(value.is_string() || value.is_null()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// K-072.
    #[test]
    fn what_is_set_overrides_equal_keys() {
        let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = pairs.iter().copied();
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        let mut object =
            json!({"kind": "X", "metadata": {"name": "n", "labels": {"a": "old", "z": "kept"}, "annotations": null}});
        assert!(!set(&mut object, "labels", &pairs(&[("a", "new"), ("b", "c")])));
        assert!(!set(&mut object, "annotations", &pairs(&[("x", "y")])));
        let metadata = json!({"name": "n", "labels": {"a": "new", "b": "c", "z": "kept"}, "annotations": {"x": "y"}});
        assert_eq!(object, json!({"kind": "X", "metadata": metadata}));
        let mut object = json!({"metadata": {"labels": {"a": null, "b": "x"}}});
        assert!(
            !set(&mut object, "labels", &pairs(&[("b", "c")])),
            "null is an empty text"
        );
        assert_eq!(object, json!({"metadata": {"labels": {"a": "", "b": "c"}}}));
        let mut object = json!({"metadata": {"labels": {"a": 1, "b": "x"}}});
        assert!(
            set(&mut object, "labels", &pairs(&[("b", "c")])),
            "a number takes all with it"
        );
        assert_eq!(object, json!({"metadata": {"labels": {"b": "c"}}}));
        let bare = json!({"kind": "X", "metadata": {"name": "n"}});
        let mut object = bare.clone();
        assert!(!set(&mut object, "labels", &BTreeMap::new()));
        assert_eq!(object, bare);
    }
}
