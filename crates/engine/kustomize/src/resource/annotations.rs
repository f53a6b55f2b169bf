//! The build's metadata about a resource, as annotations: kustomize keeps it there, and so programs that a build runs
//! see it and may return it.

use super::{Behavior, IdError, Origin, Previous, Resource};
use crate::fields::new_string;
use crate::generate::{base64_lines, is_added};
use crate::merge::respell;
use bumpwright_yaml::{Entry, FileId, Mapping, Node, Place, ReadOptions, Scalar, Style, Tag, Value, read_first};
use compact_str::CompactString;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

const DOMAIN: &str = "internal.config.kubernetes.io/";
const ORIGIN: &str = "config.kubernetes.io/origin";
const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";
const ENABLED: &str = "enabled";

/// Annotations that a build removes at its end, apart from those that stand for a field of [`Resource`].
const DROPPED: [&str; 11] = [
    "internal.config.kubernetes.io/allowNameChange",
    "internal.config.kubernetes.io/allowKindChange",
    "internal.config.kubernetes.io/refBy",
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
];

/// Older spellings of kyaml's own annotations.
const LEGACY: [&str; 3] = [
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
];

impl Resource {
    pub(super) fn annotations_mut(&mut self) -> Option<&mut Mapping> {
        let annotations = self.node.lookup_mut(&["metadata", "annotations"])?;
        annotations.as_mapping_mut()
    }

    /// Writes the build's metadata into annotations, for a step that may remove them.
    pub fn write_annotations(&mut self) {
        self.node = self.with_annotations();
    }

    /// Reads the build's metadata from annotations, after [`Self::write_annotations`]: what is missing is forgotten.
    pub fn read_annotations(&mut self) {
        self.previous.clear();
        self.prefixes.clear();
        self.suffixes.clear();
        self.behavior = None;
        self.needs_hash = false;
        self.from_helm = false;
        self.origin = None;
        self.transformations.clear();
        self.take_annotations();
    }

    /// Changes the object with the build's metadata in its annotations, so that there are some to add to. Those of the
    /// build's own domain are restored if the change removed them; origin and transformations are not.
    pub(crate) fn change_annotated<T>(&mut self, change: impl FnOnce(&mut Node) -> T) -> T {
        self.write_annotations();
        let own = self.pairs("annotations").filter(|(key, _)| is_own(key));
        let own: Vec<(CompactString, CompactString)> = own.map(|(key, text)| (key.into(), text.into())).collect();
        let changed = change(&mut self.node);
        for (key, text) in &own {
            self.set_annotation(key, text);
        }
        self.read_annotations();
        changed
    }

    fn take_origins(&mut self, origin: Option<String>, transformations: Option<String>) {
        self.origin = origin.and_then(|text| Some(Arc::new(Origin::from_node(&parsed(&text)?))));
        let list = transformations.and_then(|text| parsed(&text));
        let items = list.iter().flat_map(Node::items);
        self.transformations = items.map(|item| Arc::new(Origin::from_node(item))).collect();
    }

    /// Moves the build's metadata from annotations to fields.
    pub(super) fn take_annotations(&mut self) {
        let none = |key: &str| !key.starts_with(DOMAIN) && key != ORIGIN && key != TRANSFORMATIONS;
        if self.pairs("annotations").all(|(key, _)| none(key)) {
            return;
        }
        let mut take = |key: &str| self.take_annotation(key);
        let mut list = |key: &str| -> Vec<CompactString> {
            let text = take(&format!("{DOMAIN}{key}"));
            let parts = text.iter().flat_map(|text| text.split(','));
            parts.map(CompactString::from).collect()
        };
        let (names, namespaces, kinds) = (list("previousNames"), list("previousNamespaces"), list("previousKinds"));
        let (prefixes, suffixes) = (list("prefixes"), list("suffixes"));
        let behavior = take(&format!("{DOMAIN}generatorBehavior"));
        let needs_hash = take(&format!("{DOMAIN}needsHashSuffix"));
        let from_helm = take(&format!("{DOMAIN}helm-generated"));
        let (origin, transformations) = (take(ORIGIN), take(TRANSFORMATIONS));
        let ids = names.into_iter().zip(namespaces).zip(kinds);
        self.previous = ids
            .map(|((name, namespace), kind)| Previous { name, namespace, kind })
            .collect();
        (self.prefixes, self.suffixes) = (prefixes, suffixes);
        self.behavior = behavior.and_then(|text| Behavior::parse(&text));
        self.needs_hash = needs_hash.is_some_and(|text| text == ENABLED);
        self.from_helm = from_helm.is_some_and(|text| text == "true");
        self.take_origins(origin, transformations);
    }

    /// Whether [`Self::with_annotations`] adds any.
    pub(super) fn has_metadata(&self) -> bool {
        let lists = [&self.prefixes, &self.suffixes];
        let named = !self.previous.is_empty() || lists.iter().any(|list| !list.is_empty());
        let generated = self.behavior.is_some() || self.needs_hash || self.from_helm;
        named || generated || self.origin.is_some() || !self.transformations.is_empty()
    }

    /// The object with all of the build's metadata in its annotations, as a program sees it.
    #[must_use]
    pub fn with_annotations(&self) -> Node {
        let mut copy = self.clone();
        let text = |list: &[CompactString]| list.join(",");
        let former = |field: fn(&Previous) -> &CompactString| {
            let texts: Vec<CompactString> = self.previous.iter().map(|previous| field(previous).clone()).collect();
            text(&texts)
        };
        let mut set = |key: &str, text: String| copy.set_annotation(&format!("{DOMAIN}{key}"), &text);
        if !self.previous.is_empty() {
            set("previousKinds", former(|previous| &previous.kind));
            set("previousNames", former(|previous| &previous.name));
            set("previousNamespaces", former(|previous| &previous.namespace));
        }
        if !self.prefixes.is_empty() {
            set("prefixes", text(&self.prefixes));
        }
        if !self.suffixes.is_empty() {
            set("suffixes", text(&self.suffixes));
        }
        if let Some(behavior) = self.behavior {
            set("generatorBehavior", behavior.as_str().to_owned());
        }
        if self.needs_hash {
            set("needsHashSuffix", ENABLED.to_owned());
        }
        if self.from_helm {
            set("helm-generated", "true".to_owned());
        }
        copy.annotate_origin(true, true);
        copy.node
    }

    /// Creates an empty field for annotations where the name hash depends on it: kustomize has written one by now.
    pub(crate) fn reserve_annotations(&mut self) {
        if !matches!(self.kind(), "ConfigMap" | "Secret") {
            self.make_annotations();
        }
    }

    /// The object as kustomize hashes it: where all of it counts, with the build's metadata in its annotations, in the
    /// order in which it was added.
    #[must_use]
    pub(crate) fn as_hashed(&self) -> Cow<'_, Node> {
        if matches!(self.kind(), "ConfigMap" | "Secret") {
            return Cow::Borrowed(&self.node);
        }
        let mut copy = self.clone();
        let annotated = copy.with_annotations();
        let Some(annotations) = copy.make_annotations() else {
            return Cow::Borrowed(&self.node);
        };
        let behavior = self.behavior.map_or("unspecified", Behavior::as_str);
        let origin = self.origin.as_ref().map(|origin| (ORIGIN.to_owned(), origin.text()));
        let own = [("generatorBehavior", behavior), ("needsHashSuffix", ENABLED)];
        let own = own.map(|(key, text)| (format!("{DOMAIN}{key}"), text.to_owned()));
        for (key, text) in origin.into_iter().chain(own) {
            let at = annotations
                .entries
                .iter()
                .position(|entry| is_added(entry) || entry.key.text.as_str() > key.as_str());
            let at = at.unwrap_or(annotations.entries.len());
            let entry = Entry {
                key: Scalar::string(key.as_str()),
                place: Place::NONE,
                value: new_string(&text),
            };
            annotations.entries.insert(at, entry);
        }
        let added = |list: &[CompactString]| list.iter().filter(|text| !text.is_empty()).count();
        let named = added(&self.prefixes) + added(&self.suffixes);
        let previous = ["previousNames", "previousNamespaces", "previousKinds"];
        let noted: [&[&str]; 3] = match (self.previous.len() > named, self.prefixes.is_empty()) {
            (true, _) => [&previous, &["prefixes"], &["suffixes"]],
            (false, false) => [&["prefixes"], &previous, &["suffixes"]],
            (false, true) => [&["suffixes"], &previous, &["prefixes"]],
        };
        for key in noted.concat() {
            let key = format!("{DOMAIN}{key}");
            let text = annotated
                .lookup(&["metadata", "annotations", &key])
                .and_then(Node::as_str);
            if let Some(text) = text {
                let (text, tag, style) = (text.into(), Tag::Str, Style::Single);
                annotations.set(&key, Node::new(Value::Scalar(Scalar { text, tag, style })));
            }
        }
        Cow::Owned(copy.node)
    }

    /// Upper bound of the bytes that its origin and transformations take as annotations.
    pub(crate) fn origins(&self, origin: bool, transformations: bool) -> u64 {
        let own = self.origin.iter().filter(|_| origin);
        let changed = self.transformations.iter().filter(|_| transformations);
        own.chain(changed).map(|origin| origin.length()).sum()
    }

    /// Writes its origin and transformations as annotations.
    fn annotate_origin(&mut self, origin: bool, transformations: bool) {
        if let Some(text) = self.origin.as_ref().filter(|_| origin).map(|origin| origin.text()) {
            self.set_annotation(ORIGIN, &text);
        }
        if transformations && !self.transformations.is_empty() {
            let items = self.transformations.iter().map(|origin| origin.item());
            self.set_annotation(TRANSFORMATIONS, &items.collect::<String>());
        }
    }

    /// The annotations at the end of a build: those of its own removed, the others strings; the field removed
    /// where there are none.
    pub(crate) fn settle_annotations(&mut self, origin: bool, transformations: bool) {
        self.annotate_origin(origin, transformations);
        let gone = |key: &str| {
            DROPPED.contains(&key) || (key == ORIGIN && !origin) || (key == TRANSFORMATIONS && !transformations)
        };
        if let Some(annotations) = self.annotations_mut() {
            annotations.entries.retain(|entry| !gone(&entry.key.text));
            if !annotations.entries.is_empty() {
                return respell(annotations);
            }
        }
        if let Some(metadata) = self.node.get_mut("metadata").and_then(Node::as_mapping_mut) {
            metadata.remove("annotations");
        }
    }

    /// Where origins are tracked, kustomize rewrites all annotations with them: no entry is then shared with another.
    pub(super) fn renew_annotations(&mut self) {
        if !self.shared.is_empty() {
            self.shared.forget_below(&["metadata".into(), "annotations".into()]);
        }
        if let Some(annotations) = self.annotations_mut() {
            respell(annotations);
        }
    }

    /// Takes over names, labels, annotations and history of the object that it replaces.
    pub(super) fn take_identity(&mut self, old: &Self) {
        for field in ["labels", "annotations"] {
            let both = old.pairs(field).chain(self.pairs(field));
            let merged: BTreeMap<CompactString, CompactString> =
                both.map(|(key, value)| (key.into(), value.into())).collect();
            self.set_pairs(field, merged.into_iter().collect());
        }
        self.set_name(old.name());
        self.set_namespace(old.namespace());
        self.previous.clone_from(&old.previous);
        self.prefixes.clone_from(&old.prefixes);
        self.suffixes.clone_from(&old.suffixes);
        self.variables.clone_from(&old.variables);
        self.behavior = old.behavior;
        self.needs_hash &= old.needs_hash;
        self.from_helm = old.from_helm;
        if self.origin.is_none() {
            self.origin.clone_from(&old.origin);
        }
        if self.transformations.is_empty() {
            self.transformations.clone_from(&old.transformations);
        }
    }

    /// As [`Self::take_identity`], and adds the data of `old` under other keys.
    pub(super) fn merge_data(&mut self, old: &Self) -> Result<(), IdError> {
        let mut data = old.texts("data");
        if old.id().gvk == crate::Gvk::new("", "v1", "Secret") {
            data.extend(encoded_string_data(old)?);
        }
        let mut binary = old.texts("binaryData");
        self.take_identity(old);
        data.extend(self.texts("data"));
        binary.extend(self.texts("binaryData"));
        for (field, texts) in [("data", data), ("binaryData", binary)] {
            let Some(object) = self.node.as_mapping_mut() else {
                break;
            };
            object.remove(field);
            if texts.is_empty() {
                continue;
            }
            let map = object.get_or_insert_with(field, Node::mapping);
            if let Some(map) = map.as_mapping_mut() {
                for (key, text) in texts {
                    map.set(&key, new_string(&text));
                }
            }
        }
        if old.origin.is_some() {
            self.origin.clone_from(&old.origin);
        }
        Ok(())
    }

    fn texts(&self, field: &str) -> BTreeMap<CompactString, CompactString> {
        let entries = self.node.entries_at(&[field]);
        let text = |node: &Node| node.text().into();
        // The first of duplicate keys counts.
        let pairs = entries.iter().rev();
        pairs
            .map(|entry| (entry.key.text.clone(), text(&entry.value)))
            .collect()
    }
}

/// Whether a JSON patch cannot remove an annotation.
fn is_own(key: &str) -> bool {
    key.starts_with(DOMAIN) || LEGACY.contains(&key)
}

/// The `stringData` of a Secret in base64, as the API server converts it.
fn encoded_string_data(secret: &Resource) -> Result<BTreeMap<CompactString, CompactString>, IdError> {
    let entries = secret.node.entries_at(&["stringData"]);
    entries
        .iter()
        .map(|entry| match &entry.value.value {
            Value::Scalar(scalar) => {
                let text = if scalar.tag == Tag::Null {
                    ""
                } else {
                    scalar.text.as_str()
                };
                Ok((entry.key.text.clone(), base64_lines(text.as_bytes()).into()))
            }
            _ => Err(IdError::StringData {
                id: secret.id().to_string(),
                key: entry.key.text.to_string(),
            }),
        })
        .collect()
}

fn parsed(text: &str) -> Option<Node> {
    read_first(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE)).ok()?
}
