//! Types that all objects share: metadata, names, references, conditions.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The namespace of an object without one, as in `kubectl` and `flux`.
pub const DEFAULT_NAMESPACE: &str = "default";

/// `metadata` of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Metadata {
    /// The name, unique for a kind in a namespace.
    pub name: String,
    /// The namespace as written; see [`Metadata::namespace_or_default`].
    pub namespace: Option<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// The namespace, or [`DEFAULT_NAMESPACE`] when the manifest has none.
    #[must_use]
    pub fn namespace_or_default(&self) -> &str {
        match self.namespace.as_deref() {
            Some(namespace) if !namespace.is_empty() => namespace,
            _ => DEFAULT_NAMESPACE,
        }
    }

    #[must_use]
    pub fn object_name(&self) -> ObjectName {
        ObjectName::new(self.namespace_or_default(), &self.name)
    }
}

/// Namespace and name of an object of any kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    pub namespace: String,
    pub name: String,
}

impl ObjectName {
    /// An object's name from its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Reads `namespace/name`; none for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once('/')?;
        let is_it = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
        is_it.then(|| Self::new(namespace, name))
    }

    /// The object that an object in the namespace `own` refers to: in `own`, unless the
    /// reference names another namespace.
    #[must_use]
    pub fn referred_from(own: &str, namespace: Option<&str>, name: &str) -> Self {
        let given = namespace.filter(|namespace| !namespace.is_empty());
        Self::new(given.unwrap_or(own), name)
    }
}

/// Written as Kubernetes writes it: `namespace/name`.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A reference to an object of a known kind in the same namespace (`LocalObjectReference`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LocalRef {
    pub name: String,
}

/// One entry of `status.conditions`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// `Ready`, `Reconciling`, `Stalled`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Machine-readable reason in CamelCase.
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub message: String,
    /// The generation that it was set for.
    #[serde(default)]
    pub observed_generation: Option<i64>,
    /// Time of the last change, in RFC 3339.
    #[serde(default)]
    pub last_transition_time: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_parts() {
        assert_eq!(ObjectName::parse("fs/app"), Some(ObjectName::new("fs", "app")));
        for text in ["", "app", "/app", "fs/", "fs/app/more"] {
            assert_eq!(ObjectName::parse(text), None, "{text:?}");
        }
    }
}
