//! One object with the build's metadata about it.

use super::id::DEFAULT_NAMESPACE;
use super::{Origin, ResId};
use crate::Gvk;
use crate::fields::{SharedEntries, new_string, untagged};
use crate::schema::SchemaChoice;
use crate::transform::{End, Id, Object};
use bumpwright_yaml::{Mapping, Node, Place, Scalar, Style, Tag, Value};
use compact_str::CompactString;
use std::sync::Arc;

/// An object of a build, with its former names and where it comes from.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The object itself. After a change of type, name or namespace call [`Resource::refresh`].
    pub node: Node,
    id: ResId,
    /// Its former names, oldest first.
    pub previous: Vec<Previous>,
    /// Prefixes added to its name, in order.
    pub prefixes: Vec<CompactString>,
    /// Suffixes added to its name, in order.
    pub suffixes: Vec<CompactString>,
    /// What a generator does with an existing object of the same id.
    pub behavior: Option<Behavior>,
    /// Whether its name gets a hash of its content.
    pub needs_hash: bool,
    /// Whether helm rendered it; then its namespace is left to the chart.
    pub from_helm: bool,
    /// The names of the variables that read a field of it.
    pub variables: Vec<CompactString>,
    /// Its origin, if that is tracked.
    pub origin: Option<Arc<Origin>>,
    /// The transformers that changed it, if that is tracked.
    pub transformations: Vec<Arc<Origin>>,
    /// Entries in it that are one node to kustomize.
    pub shared: SharedEntries,
}

/// The name of an object before a transformer changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    pub name: CompactString,
    /// The effective namespace.
    pub namespace: CompactString,
    pub kind: CompactString,
}

impl Previous {
    /// The effective namespace: `default` where none was given.
    #[must_use]
    pub fn effective_namespace(&self) -> &str {
        if self.namespace.is_empty() {
            DEFAULT_NAMESPACE
        } else {
            &self.namespace
        }
    }
}

/// What a generator does with an existing object of the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// There must be none.
    Create,
    /// Replaces it, but keeps its names, labels and annotations.
    Replace,
    /// Adds its data to it.
    Merge,
}

impl Behavior {
    /// Parses `create`, `replace` or `merge`; anything else is as if nothing were given.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "create" => Some(Self::Create),
            "replace" => Some(Self::Replace),
            "merge" => Some(Self::Merge),
            _ => None,
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }
}

impl Resource {
    /// The object, with the metadata that earlier steps left in its annotations.
    #[must_use]
    pub fn new(node: Node, schema: &SchemaChoice) -> Self {
        let mut resource = Self {
            node,
            id: ResId::default(),
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            behavior: None,
            needs_hash: false,
            from_helm: false,
            variables: Vec::new(),
            origin: None,
            transformations: Vec::new(),
            shared: SharedEntries::default(),
        };
        resource.take_annotations();
        resource.refresh(schema);
        resource
    }

    #[must_use]
    pub const fn id(&self) -> &ResId {
        &self.id
    }

    /// Updates the id from the object.
    pub fn refresh(&mut self, schema: &SchemaChoice) {
        let kind = self.top("kind");
        let api_version = self.top("apiVersion");
        let cluster_scoped = if self.id.gvk.kind == kind && self.id.gvk.api_version() == api_version {
            self.id.cluster_scoped
        } else {
            schema.namespaced(api_version, kind) == Some(false)
        };
        let id = ResId {
            gvk: Gvk::from_api_version(api_version, kind),
            name: self.name().into(),
            namespace: self.namespace().into(),
            cluster_scoped,
        };
        self.id = id;
    }

    fn top(&self, key: &str) -> &str {
        self.node.text_at(&[key])
    }

    fn meta(&self, key: &str) -> &str {
        self.node.text_at(&["metadata", key])
    }

    #[must_use]
    pub fn name(&self) -> &str {
        self.meta("name")
    }

    /// Its own namespace; empty where it has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.meta("namespace")
    }

    #[must_use]
    pub fn kind(&self) -> &str {
        self.top("kind")
    }

    /// The value of an annotation, whatever its tag; `None` for a list or mapping.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        let value = self.node.lookup(&["metadata", "annotations", key])?;
        Some(value.as_scalar().map_or("", |scalar| scalar.text.as_str()))
    }

    /// Labels or annotations as pairs, values of any tag as text.
    pub fn pairs<'a>(&'a self, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let entries = self.node.entries_at(&["metadata", field]);
        entries
            .iter()
            .map(|entry| (entry.key.text.as_str(), entry.value.written()))
    }

    /// Whether a step emptied it: the object is then dropped.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        is_nil_or_empty(&self.node)
    }

    /// Stores its current id as a former one, before a change.
    pub fn remember(&mut self) {
        self.previous.push(Previous {
            name: self.id.name.clone(),
            namespace: self.id.effective_namespace().into(),
            kind: self.id.gvk.kind.clone(),
        });
    }

    #[must_use]
    pub(crate) fn original_id(&self) -> ResId {
        let first = self.previous.first();
        first.map_or_else(|| self.id.clone(), |first| self.previous_id(first))
    }

    /// One of its former ids, with the current group and version.
    #[must_use]
    pub(crate) fn previous_id(&self, previous: &Previous) -> ResId {
        ResId {
            gvk: Gvk {
                group: self.id.gvk.group.clone(),
                version: self.id.gvk.version.clone(),
                kind: previous.kind.clone(),
            },
            name: previous.name.clone(),
            namespace: previous.namespace.clone(),
            cluster_scoped: false,
        }
    }

    fn former_id(&self, previous: &Previous) -> Id {
        Id {
            gvk: Gvk {
                group: self.id.gvk.group.clone(),
                version: self.id.gvk.version.clone(),
                kind: previous.kind.clone(),
            },
            name: previous.name.clone(),
            namespace: previous.namespace.clone(),
        }
    }

    /// Whether this is its id or a former one.
    #[must_use]
    pub(crate) fn has_or_had(&self, id: &ResId) -> bool {
        let (gvk, ours) = (&id.gvk, &self.id.gvk);
        let had = |former: &Previous| {
            former.name == id.name
                && former.kind == gvk.kind
                && former.effective_namespace() == id.effective_namespace()
        };
        let same_version = gvk.group == ours.group && gvk.version == ours.version;
        self.id.equals(id) || (same_version && self.previous.iter().any(had))
    }

    /// All its ids, oldest first, the current one last.
    pub(crate) fn all_ids(&self) -> impl Iterator<Item = ResId> + '_ {
        let former = self.previous.iter().map(|previous| self.previous_id(previous));
        former.chain([self.id.clone()])
    }

    /// Sets its name, in the style of the old one.
    pub(crate) fn set_name(&mut self, name: &str) {
        self.set_meta("name", name);
        self.id.name = name.into();
    }

    /// Sets its namespace; removes it where `namespace` is empty.
    pub(crate) fn set_namespace(&mut self, namespace: &str) {
        if namespace.is_empty() {
            let metadata = self.node.get_mut("metadata").and_then(Node::as_mapping_mut);
            metadata.map(|metadata| metadata.remove("namespace"));
        } else {
            self.set_meta("namespace", namespace);
        }
        self.id.namespace = namespace.into();
    }

    fn set_meta(&mut self, key: &str, text: &str) {
        let Some(object) = self.node.as_mapping_mut() else {
            return;
        };
        if let Some(metadata) = mapping_under(object, "metadata") {
            set_text(metadata, key, text);
        }
    }

    /// Sets an annotation to a string.
    pub(crate) fn set_annotation(&mut self, key: &str, text: &str) {
        if let Some(annotations) = self.make_annotations() {
            annotations.set(key, Node::string(text));
        }
    }

    /// Its annotations, created where there are none.
    pub(super) fn make_annotations(&mut self) -> Option<&mut Mapping> {
        let metadata = mapping_under(self.node.as_mapping_mut()?, "metadata")?;
        mapping_under(metadata, "annotations")
    }

    pub(crate) fn take_annotation(&mut self, key: &str) -> Option<String> {
        let value = self.annotations_mut()?.remove(key)?;
        Some(value.as_scalar()?.text.to_string())
    }

    /// Replaces labels or annotations by strings in order; removes the field where there are none.
    pub(crate) fn set_pairs(&mut self, field: &str, mut pairs: Vec<(CompactString, CompactString)>) {
        // The last of duplicate keys counts.
        pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
        let Some(metadata) = self.node.get_mut("metadata").and_then(Node::as_mapping_mut) else {
            return;
        };
        metadata.remove(field);
        if pairs.is_empty() {
            return;
        }
        let mut node = Node::mapping();
        if let Some(mapping) = node.as_mapping_mut() {
            for (key, value) in pairs {
                mapping.set(&key, new_string(&value));
            }
        }
        metadata.set(field, node);
    }
}

impl Object for Resource {
    fn node(&self) -> &Node {
        &self.node
    }

    fn tree(&mut self) -> (&mut Node, &mut SharedEntries) {
        (&mut self.node, &mut self.shared)
    }

    fn former_ids(&self) -> Vec<Id> {
        self.previous.iter().map(|previous| self.former_id(previous)).collect()
    }

    fn original_id(&self) -> Id {
        let first = self.previous.first();
        first.map_or_else(|| Id::of(&self.node), |first| self.former_id(first))
    }

    fn remember_id(&mut self) {
        self.previous.push(Previous {
            name: self.name().into(),
            namespace: ResId {
                namespace: self.namespace().into(),
                cluster_scoped: self.id.cluster_scoped,
                ..ResId::default()
            }
            .effective_namespace()
            .into(),
            kind: self.kind().into(),
        });
    }

    fn note_affix(&mut self, end: End, affix: &str) {
        match end {
            End::Prefix => self.prefixes.push(affix.into()),
            End::Suffix => self.suffixes.push(affix.into()),
        }
    }

    fn show_annotations(&mut self) {
        if self.has_metadata() {
            self.make_annotations();
        }
    }

    fn is_from_helm(&self) -> bool {
        self.from_helm
    }
}

/// Null, or an empty mapping or sequence, or an empty text without a tag.
pub(super) fn is_nil_or_empty(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(scalar) => scalar.tag == Tag::Null,
        Value::Mapping(mapping) => mapping.entries.is_empty(),
        Value::Sequence(sequence) => sequence.items.is_empty(),
    }
}

/// The mapping under a key; created where there is anything else.
fn mapping_under<'m>(mapping: &'m mut Mapping, key: &str) -> Option<&'m mut Mapping> {
    let node = mapping.get_or_insert_with(key, Node::mapping);
    if node.as_mapping().is_none() {
        *node = Node::mapping().at(node.place);
    }
    node.as_mapping_mut()
}

/// Sets a field to an untagged text: its type follows from its spelling, unless the old one was quoted.
fn set_text(mapping: &mut Mapping, key: &str, text: &str) {
    let old = mapping.get(key);
    let style = old.and_then(Node::as_scalar).map_or(Style::Plain, |old| old.style);
    let place = old.map_or(Place::NONE, |old| old.place);
    let scalar = Scalar {
        text: text.into(),
        tag: untagged(text, style),
        style,
    };
    mapping.set(key, Node::new(Value::Scalar(scalar)).at(place));
}
