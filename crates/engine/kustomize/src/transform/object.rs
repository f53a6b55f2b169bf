//! The interface of a resource to transformers.

use crate::Gvk;
use crate::fields::SharedEntries;
use bumpwright_yaml::Node;
use compact_str::CompactString;
use std::fmt;

/// Returns whether objects of a type are known to be cluster-scoped.
pub type IsClusterScoped<'a> = &'a dyn Fn(&Gvk) -> bool;

/// A current or former id of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Id {
    pub gvk: Gvk,
    pub name: CompactString,
    /// The namespace. In a former id the effective one: `default` where there was none, `_non_namespaceable_` for
    /// cluster-scoped objects.
    pub namespace: CompactString,
}

/// The effective namespace of cluster-scoped objects.
const OUTSIDE: CompactString = CompactString::const_new("_non_namespaceable_");

/// The effective namespace of objects that have none.
const DEFAULT: CompactString = CompactString::const_new("default");

impl Id {
    /// The current id of an object.
    #[must_use]
    pub fn of(object: &Node) -> Self {
        let text = |key| object.text_at(&["metadata", key]).into();
        Self {
            gvk: Gvk::of(object),
            name: text("name"),
            namespace: text("namespace"),
        }
    }

    /// Whether all parts are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gvk.is_empty() && self.name.is_empty() && self.namespace.is_empty()
    }

    #[must_use]
    pub fn effective_namespace(&self, is_cluster_scoped: IsClusterScoped<'_>) -> CompactString {
        if is_cluster_scoped(&self.gvk) {
            return OUTSIDE;
        }
        match self.namespace.as_str() {
            "" => DEFAULT,
            _ => self.namespace.clone(),
        }
    }
}

/// `Kind.version.group/name.namespace`, as kustomize's messages show it.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &CompactString, none: &'static str| match text.as_str() {
            "" => CompactString::const_new(none),
            _ => text.clone(),
        };
        write!(
            f,
            "{}/{}.{}",
            self.gvk,
            or(&self.name, "[noName]"),
            or(&self.namespace, "[noNs]")
        )
    }
}

/// A resource, as transformers see it.
pub trait Object {
    fn node(&self) -> &Node;

    /// Its tree for a change, with the entries in it that are one node to kustomize: to be settled after the change.
    fn tree(&mut self) -> (&mut Node, &mut SharedEntries);

    /// Its tree for a change where no entry can be shared.
    fn node_mut(&mut self) -> &mut Node {
        self.tree().0
    }

    /// Its former ids, oldest first.
    fn former_ids(&self) -> Vec<Id>;

    /// Stores the current id as a former one.
    fn remember_id(&mut self);

    /// Records that a prefix or suffix is about to be added to the name.
    fn note_affix(&mut self, end: super::End, affix: &str);

    /// Creates an empty field for annotations where kustomize has one, with the build's metadata.
    fn show_annotations(&mut self) {}

    /// Whether helm rendered it, so that its namespace is left to the chart.
    fn is_from_helm(&self) -> bool {
        false
    }

    fn id(&self) -> Id {
        Id::of(self.node())
    }

    /// The oldest id; the current one if it never had another.
    fn original_id(&self) -> Id {
        self.former_ids().into_iter().next().unwrap_or_else(|| self.id())
    }
}
