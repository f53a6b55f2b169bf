//! The identity of an object in a cluster, independent of its API version.

use std::fmt;

use serde_json::Value;

use super::meta::ObjectName;
use bumpwright_json::Texts;

/// Group, kind, namespace and name (cli-utils `object.ObjMetadata`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Namespace (empty for cluster-scoped objects) and name.
    pub name: ObjectName,
    /// API group; empty for the core group.
    pub group: String,
    /// The name of the kind.
    pub kind: String,
}

impl ObjectId {
    /// The identity of an object; absent parts are empty.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.text_at(pointer);
        let (group, kind) = group_kind(object);
        Self {
            name: ObjectName::new(text("/metadata/namespace"), text("/metadata/name")),
            group: group.to_owned(),
            kind: kind.to_owned(),
        }
    }
}

/// The form in Flux's messages: `Kind/namespace/name`, or `Kind/name`.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectName { namespace, name } = &self.name;
        if namespace.is_empty() {
            write!(f, "{}/{name}", self.kind)
        } else {
            write!(f, "{}/{namespace}/{name}", self.kind)
        }
    }
}

/// Group and kind of an object; both empty when `apiVersion` has more than one slash, as in apimachinery.
#[must_use]
pub fn group_kind(object: &Value) -> (&str, &str) {
    let text = |key| object.text_of(key);
    match text("apiVersion").split_once('/') {
        None => ("", text("kind")),
        Some((group, version)) if !version.contains('/') => (group, text("kind")),
        Some(_) => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_named_without_their_versions() {
        let object = |version, namespace| {
            let metadata = json!({"name": "podinfo", "namespace": namespace});
            json!({"apiVersion": version, "kind": "Deployment", "metadata": metadata})
        };
        for (version, namespace, group, shown) in [
            ("apps/v1", json!("default"), "apps", "Deployment/default/podinfo"),
            ("v1", json!(null), "", "Deployment/podinfo"),
            ("a/b/c", json!("default"), "", "/default/podinfo"),
        ] {
            let id = ObjectId::of(&object(version, namespace));
            assert_eq!((id.group.as_str(), id.to_string().as_str()), (group, shown));
        }
        assert_eq!(ObjectId::of(&json!([])).to_string(), "/");
    }
}
