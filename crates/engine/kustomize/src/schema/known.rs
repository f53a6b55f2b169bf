//! Types by number and navigation between them.

use compact_str::CompactString;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The built-in tables; `schema/README.md` describes their format.
const KUBERNETES: &str = include_str!("../../schema/kubernetes.txt");
const KUSTOMIZATION: &str = include_str!("../../schema/kustomization.txt");

/// Maximum length of a chain of references; more is a cycle.
const MAX_HOPS: usize = 64;

/// Types of kinds and the scopes of kinds.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    types: Vec<Type>,
    /// The number of each definition's name, and its current target: a later file may redefine a name.
    names: HashMap<CompactString, u32>,
    definitions: Vec<Option<u32>>,
    /// Per kind: its apiVersions, each with the number of a type.
    kinds: HashMap<CompactString, Vec<(CompactString, u32)>>,
    /// Per kind: its apiVersions, and whether objects are namespaced.
    scopes: HashMap<CompactString, Vec<(CompactString, bool)>>,
}

/// One type: most have fields or items, not both.
#[derive(Debug, Clone, Default)]
pub(super) struct Type {
    /// The fields, sorted by name.
    pub(super) fields: Vec<(CompactString, Target)>,
    /// The type of every other field.
    pub(super) rest: Option<Target>,
    /// The type of the elements of a list.
    pub(super) items: Option<Target>,
    /// The type that this one only refers to.
    pub(super) alias: Option<Target>,
    /// The merge keys of a list whose elements merge; empty for plain values.
    pub(super) merge: Option<Vec<CompactString>>,
}

/// The type of a field or an element.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// A type of which nothing is known.
    Leaf,
    /// A type by its number.
    Type(u32),
    /// A definition by the number of its name.
    Definition(u32),
}

static LEAF: Type = Type {
    fields: Vec::new(),
    rest: None,
    items: None,
    alias: None,
    merge: None,
};

/// A type of a schema, from which fields and items are reached.
#[derive(Debug, Clone, Copy)]
pub struct TypeRef<'s> {
    schema: &'s Schema,
    of: &'s Type,
}

impl Schema {
    /// The built-in schema: 130 kB of tables, parsed as a whole at first use, once for each process.
    #[must_use]
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Schema> = LazyLock::new(|| {
            let mut schema = Schema::default();
            schema.add_kubernetes();
            schema.add_kustomization();
            schema
        });
        &BUILTIN
    }

    pub(super) fn add_kubernetes(&mut self) {
        self.add_table(KUBERNETES);
    }

    /// Adds kustomize's own kinds, which are known whatever the schema.
    pub(super) fn add_kustomization(&mut self) {
        self.add_table(KUSTOMIZATION);
    }

    /// The type of a kind; `api_version` is `group/version`, or `version` alone for the core group.
    #[must_use]
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<TypeRef<'_>> {
        let of = lookup(&self.kinds, api_version, kind)?;
        self.follow(Target::Type(*of))
    }

    /// Whether objects of a kind are namespaced; `None` where this schema does not say.
    #[must_use]
    pub fn namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        lookup(&self.scopes, api_version, kind).copied()
    }

    /// The type that `target` refers to; `None` where a definition is missing or refers to itself.
    fn follow(&self, mut target: Target) -> Option<TypeRef<'_>> {
        for _ in 0..MAX_HOPS {
            let number = match target {
                Target::Leaf => {
                    return Some(TypeRef {
                        schema: self,
                        of: &LEAF,
                    });
                }
                Target::Type(number) => number,
                Target::Definition(name) => (*self.definitions.get(at(name))?)?,
            };
            let of = self.types.get(at(number))?;
            match of.alias {
                Some(next) => target = next,
                None => return Some(TypeRef { schema: self, of }),
            }
        }
        None
    }

    /// The number of a definition's name, defined or not.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = count(self.definitions.len());
        self.definitions.push(None);
        self.names.insert(name.into(), number);
        number
    }

    /// Adds a type and returns its number.
    pub(super) fn push(&mut self, of: Type) -> u32 {
        self.types.push(of);
        count(self.types.len() - 1)
    }

    /// Sets the target of a name.
    pub(super) fn define(&mut self, name: u32, of: u32) {
        if let Some(definition) = self.definitions.get_mut(at(name)) {
            *definition = Some(of);
        }
    }

    /// The current target of a name.
    pub(super) fn defined(&self, name: u32) -> Option<u32> {
        self.definitions.get(at(name)).copied().flatten()
    }

    /// Sets the type of a kind.
    pub(super) fn set_kind(&mut self, api_version: &str, kind: &str, of: u32) {
        insert(&mut self.kinds, api_version, kind, of);
    }

    /// Sets whether objects of a kind are namespaced.
    pub(super) fn set_namespaced(&mut self, api_version: &str, kind: &str, namespaced: bool) {
        insert(&mut self.scopes, api_version, kind, namespaced);
    }
}

type ByKind<T> = HashMap<CompactString, Vec<(CompactString, T)>>;

fn lookup<'m, T>(map: &'m ByKind<T>, api_version: &str, kind: &str) -> Option<&'m T> {
    let versions = map.get(kind)?;
    let version = versions.iter().find(|(version, _)| version == api_version);
    version.map(|(_, value)| value)
}

fn insert<T>(map: &mut ByKind<T>, api_version: &str, kind: &str, value: T) {
    let versions = map.entry(kind.into()).or_default();
    match versions.iter_mut().find(|(version, _)| version == api_version) {
        Some((_, old)) => *old = value,
        None => versions.push((api_version.into(), value)),
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl<'s> TypeRef<'s> {
    /// The type of a field; `None` where the schema does not have the field.
    #[must_use]
    pub fn field(self, name: &str) -> Option<Self> {
        let fields = &self.of.fields;
        let position = fields.binary_search_by(|(field, _)| field.as_str().cmp(name)).ok();
        let target = position.and_then(|at| fields.get(at)).map(|(_, target)| *target);
        self.schema.follow(target.or(self.of.rest)?)
    }

    /// The type of the elements, if this is a list.
    #[must_use]
    pub fn items(self) -> Option<Self> {
        self.schema.follow(self.of.items?)
    }

    /// The merge keys of this list: an empty list of keys for plain values, `None` where lists replace each other.
    #[must_use]
    pub fn merge_keys(self) -> Option<&'s [CompactString]> {
        self.of.merge.as_deref()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn built_in_kinds_tell_how_their_lists_merge() {
        let schema = Schema::builtin();
        let deployment = schema.kind("apps/v1", "Deployment").unwrap();
        let pod = deployment
            .field("spec")
            .unwrap()
            .field("template")
            .unwrap()
            .field("spec");
        let containers = pod.unwrap().field("containers").unwrap();
        assert_eq!(containers.merge_keys().unwrap(), ["name"]);
        let container = containers.items().unwrap();
        let ports = container.field("ports").unwrap();
        assert_eq!(ports.merge_keys().unwrap(), ["containerPort", "protocol"]);
        assert!(container.field("args").unwrap().merge_keys().is_none());
        let finalizers = deployment.field("metadata").unwrap().field("finalizers").unwrap();
        assert!(finalizers.merge_keys().unwrap().is_empty());
        assert!(deployment.field("nothing").is_none());
        let label = deployment
            .field("metadata")
            .unwrap()
            .field("labels")
            .unwrap()
            .field("any");
        assert!(label.unwrap().field("below").is_none());
        assert!(schema.kind("apps/v2", "Deployment").is_none());
    }

    #[test]
    fn recursive_types_are_walked_as_deep_as_asked() {
        let crd = Schema::builtin().kind("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let versions = crd.unwrap().field("spec").unwrap().field("versions").unwrap();
        let mut props = versions
            .items()
            .unwrap()
            .field("schema")
            .unwrap()
            .field("openAPIV3Schema");
        for _ in 0..1000 {
            props = props.unwrap().field("properties").unwrap().field("x");
        }
        assert!(props.unwrap().field("required").is_some());
    }

    #[test]
    fn scopes_are_those_of_kustomize() {
        let schema = Schema::builtin();
        assert_eq!(schema.namespaced("v1", "Namespace"), Some(false));
        assert_eq!(schema.namespaced("v1", "ConfigMap"), Some(true));
        assert_eq!(schema.namespaced("policy/v1beta1", "PodSecurityPolicy"), Some(false));
        assert_eq!(schema.namespaced("v1", "Binding"), None);
        assert_eq!(schema.namespaced("example.com/v1", "Thing"), None);
    }
}
