//! What names an object of a cluster, whatever its version.

use super::field::text;
use serde_json::Value;
use std::fmt;

/// Group, kind, namespace and name; shown as Flux does, `Kind/namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The API group; empty for the core.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for objects of the whole cluster.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectId {
    /// The id of an object; what it does not say is empty.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let (group, kind) = group_kind(object);
        let meta = |key| text(object, &["metadata", key]).unwrap_or_default().to_owned();
        Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: meta("namespace"),
            name: meta("name"),
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind, namespace, name, ..
        } = self;
        match namespace.is_empty() {
            true => write!(f, "{kind}/{name}"),
            false => write!(f, "{kind}/{namespace}/{name}"),
        }
    }
}

/// Group and kind, empty both where `apiVersion` has more than one slash, as apimachinery has it.
pub(crate) fn group_kind(object: &Value) -> (&str, &str) {
    let version = text(object, &["apiVersion"]).unwrap_or_default();
    let kind = text(object, &["kind"]).unwrap_or_default();
    match version.split_once('/') {
        None => ("", kind),
        Some((group, version)) if !version.contains('/') => (group, kind),
        Some(_) => ("", ""),
    }
}
