//! What transformers ask of a resource.

use crate::Gvk;
use crate::fields::SharedEntries;
use bumpwright_yaml::Node;
use compact_str::CompactString;
use std::fmt;

/// Tells whether objects of a type are known to live outside of namespaces.
pub type IsClusterScoped<'a> = &'a dyn Fn(&Gvk) -> bool;

/// A name that an object has or had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Id {
    /// The type.
    pub gvk: Gvk,
    /// The name.
    pub name: CompactString,
    /// The namespace. Of a former id the effective one: `default` where there was none, `_non_namespaceable_` where
    /// there cannot be one.
    pub namespace: CompactString,
}

/// The namespace of objects that have none because their type has none.
const OUTSIDE: CompactString = CompactString::const_new("_non_namespaceable_");

/// The namespace of objects that give none.
const DEFAULT: CompactString = CompactString::const_new("default");

impl Id {
    /// The id that an object gives itself now.
    #[must_use]
    pub fn of(object: &Node) -> Self {
        let text = |key| {
            let text = object.lookup(&["metadata", key]).and_then(Node::as_str);
            text.unwrap_or_default().into()
        };
        Self {
            gvk: Gvk::of(object),
            name: text("name"),
            namespace: text("namespace"),
        }
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gvk.is_empty() && self.name.is_empty() && self.namespace.is_empty()
    }

    /// The namespace to compare by.
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

/// A resource, as far as transformers care.
pub trait Object {
    /// Its tree.
    fn node(&self) -> &Node;

    /// Its tree, to change, with the entries in it that are one to kustomize: to be settled after a change.
    fn tree(&mut self) -> (&mut Node, &mut SharedEntries);

    /// Its tree, to change where no entry is that could be shared.
    fn node_mut(&mut self) -> &mut Node {
        self.tree().0
    }

    /// The ids that it had before the present one, oldest first.
    fn former_ids(&self) -> Vec<Id>;

    /// Makes the present id a former one.
    fn remember_id(&mut self);

    /// Notes that a prefix or suffix is about to be put on the name.
    fn note_affix(&mut self, end: super::End, affix: &str);

    /// Makes an empty field for annotations where kustomize has one, with what the build knows of the object.
    fn show_annotations(&mut self) {}

    /// Whether a Helm chart made it, so that its namespace is the chart's business.
    fn is_from_helm(&self) -> bool {
        false
    }

    /// The present id.
    fn id(&self) -> Id {
        Id::of(self.node())
    }

    /// The oldest id; the present one if it never had another.
    fn original_id(&self) -> Id {
        self.former_ids().into_iter().next().unwrap_or_else(|| self.id())
    }
}
