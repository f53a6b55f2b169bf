//! The id of an object: type, name and namespace.

use crate::Gvk;
use compact_str::CompactString;
use std::fmt;

/// Type, name and namespace of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ResId {
    pub gvk: Gvk,
    pub name: CompactString,
    /// The object's own namespace; empty where it has none.
    pub namespace: CompactString,
    /// Whether objects of this type are known to be cluster-scoped.
    pub cluster_scoped: bool,
}

/// The effective namespace of cluster-scoped objects.
const NO_NAMESPACE: &str = "_non_namespaceable_";
pub(super) const DEFAULT_NAMESPACE: &str = "default";

impl ResId {
    /// The effective namespace: a marker for cluster-scoped objects, `default` where none is given.
    #[must_use]
    pub fn effective_namespace(&self) -> &str {
        match (self.cluster_scoped, self.namespace.as_str()) {
            (true, _) => NO_NAMESPACE,
            (false, "") => DEFAULT_NAMESPACE,
            (false, namespace) => namespace,
        }
    }

    /// Whether both are in the same effective namespace.
    #[must_use]
    pub(crate) fn same_namespace(&self, other: &Self) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    /// Whether both name the same object: type, name and effective namespace.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        self.name == other.name && self.gvk == other.gvk && self.same_namespace(other)
    }
}

/// `Deployment.v1.apps/name.namespace`, as kustomize's messages show it.
impl fmt::Display for ResId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |part: &CompactString, none: &'static str| {
            if part.is_empty() {
                CompactString::const_new(none)
            } else {
                part.clone()
            }
        };
        let (name, namespace) = (or(&self.name, "[noName]"), or(&self.namespace, "[noNs]"));
        write!(f, "{}/{name}.{namespace}", self.gvk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(namespace: &str, cluster_scoped: bool) -> ResId {
        ResId {
            gvk: Gvk::new("apps", "v1", "Deployment"),
            name: "x".into(),
            namespace: namespace.into(),
            cluster_scoped,
        }
    }

    #[test]
    fn no_namespace_is_the_default_one() {
        assert!(id("", false).equals(&id("default", false)));
        assert!(!id("", false).equals(&id("other", false)));
        assert!(id("a", true).equals(&id("b", true)));
        assert!(!id("", true).equals(&id("", false)));
        assert_eq!(id("", false).to_string(), "Deployment.v1.apps/x.[noNs]");
    }
}
