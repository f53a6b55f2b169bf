//! Built objects as JSON values, and what an apply puts on all of them.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A built object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// The object.
    pub value: Value,
    /// Where it begins in the artifact, as `path:line:column`; nothing for what a generator made.
    pub origin: Option<Box<str>>,
}

impl Object {
    /// Text at a path of keys; empty where there is none.
    fn text(&self, path: &[&str]) -> &str {
        let value = path.iter().try_fold(&self.value, |value, key| value.get(key));
        value.and_then(Value::as_str).unwrap_or_default()
    }

    /// `path:line:column: Kind namespace/name`, as far as is known.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut shown = String::new();
        if let Some(origin) = &self.origin {
            shown.extend([origin, ": "]);
        }
        shown.push_str(self.text(&["kind"]));
        let name = [self.text(&["metadata", "namespace"]), self.text(&["metadata", "name"])];
        shown.push(' ');
        shown.push_str(name.join("/").trim_start_matches('/'));
        shown.truncate(shown.trim_end().len());
        shown
    }

    /// Whether it says what it is: `apiVersion`, `kind` and a name.
    pub(super) fn is_named(&self) -> bool {
        [&["apiVersion"][..], &["kind"], &["metadata", "name"]]
            .iter()
            .all(|path| !self.text(path).is_empty())
    }

    /// Whether it is a kustomization of kustomize's own: that is for tools and never applied.
    pub(super) fn is_kustomization(&self) -> bool {
        self.text(&["kind"]).eq_ignore_ascii_case("kustomization")
            && self.text(&["apiVersion"]).starts_with("kustomize.config.k8s.io/")
    }
}

/// `spec.commonMetadata`: labels and annotations for all objects (K-072). Flux puts them on right before it applies, after its own
/// labels and after the digest was taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)] // each is named as its field
pub struct CommonMetadata {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

impl CommonMetadata {
    /// Puts them on an object; equal keys are overridden.
    pub fn put_on(&self, object: &mut Value) {
        for (field, pairs) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if pairs.is_empty() {
                continue;
            }
            let Some(metadata) = object.as_object_mut().and_then(|object| map_under(object, "metadata")) else {
                continue;
            };
            if let Some(target) = map_under(metadata, field) {
                for (key, value) in pairs {
                    target.insert(key.clone(), Value::from(value.as_str()));
                }
            }
        }
    }
}

/// The mapping under a key; made where something else or nothing is.
fn map_under<'m>(object: &'m mut Map<String, Value>, key: &str) -> Option<&'m mut Map<String, Value>> {
    let value = object.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
