//! A cluster that is checked, and findings about its objects.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use serde_json::Value;

use super::places::{Part, Places, given_by};
use crate::build::one::is_sealed;
use crate::build::settings::is_over;
use crate::build::view::{Fleet, FleetObject, Node, Problem};
use crate::source::each_file::each_file;
use crate::source::files::shown_folder;
use crate::source::meant::{Identity, Source, is_same};
use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_findings::{Finding, Place, Rule, Severity};
use bumpwright_json::Texts;
use bumpwright_nearest::{nearest, nearest_path};

pub(crate) const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";
pub(crate) const IMAGE_GROUP: &str = "image.toolkit.fluxcd.io";
pub(crate) const KUSTOMIZE_GROUP: &str = "kustomize.toolkit.fluxcd.io";
pub(crate) use crate::release::spec::GROUP as HELM_GROUP;

/// Kustomizations that are named when objects may be in those that were not built.
const FEW: usize = 3;

/// A cluster, with the files of the repository.
pub(crate) struct Cluster<'c> {
    pub(crate) fleet: &'c Fleet,
    pub(crate) places: &'c Places<'c>,
    identity: &'c Identity,
    /// When no more objects are looked at.
    deadline: Option<Instant>,
    objects: Objects<'c>,
    /// Sources that are the repository itself, by kind and name.
    own: BTreeSet<(&'c str, ObjectName)>,
    /// Kustomizations that were not built.
    unbuilt: Vec<String>,
    /// The first file that has an object, by its kind and name as they are in files: looked for when something is
    /// missing that may be in what was not built.
    definitions: OnceCell<BTreeMap<(String, String), String>>,
}

/// An object with its node.
type Object<'c> = (&'c Node, &'c FleetObject);

/// The objects of a cluster, in the order of their nodes: each is looked at once for all rules.
#[derive(Default)]
struct Objects<'c> {
    readable: Vec<Object<'c>>,
    /// Those that are encrypted as a whole.
    sealed: Vec<Object<'c>>,
    /// Those that are not for another cluster, by group and kind.
    by_kind: HashMap<&'c str, HashMap<&'c str, Vec<Object<'c>>>>,
}

impl<'c> Objects<'c> {
    fn of(fleet: &'c Fleet) -> Self {
        let mut objects = Self::default();
        for (node, object) in fleet.objects() {
            if is_sealed(&object.value) {
                objects.sealed.push((node, object));
            } else {
                objects.readable.push((node, object));
            }
            if !node.is_elsewhere() {
                let (group, kind) = bumpwright_api::group_kind(&object.value);
                let kinds = objects.by_kind.entry(group).or_default();
                kinds.entry(kind).or_default().push((node, object));
            }
        }
        objects
    }

    fn of_kind(&self, group: &str, kind: &str) -> &[Object<'c>] {
        let objects = self.by_kind.get(group).and_then(|kinds| kinds.get(kind));
        objects.map_or(&[], Vec::as_slice)
    }
}

/// The ImagePolicies of all clusters.
pub(crate) fn policies(clusters: &[Cluster<'_>]) -> BTreeSet<ObjectName> {
    let policies = clusters
        .iter()
        .flat_map(|cluster| cluster.of_kind(IMAGE_GROUP, "ImagePolicy"));
    policies.map(|(_, object)| name_of(&object.value)).collect()
}

impl<'c> Cluster<'c> {
    /// A cluster of a repository with this identity, whose objects are looked at until the deadline.
    pub(crate) fn new(
        fleet: &'c Fleet,
        places: &'c Places<'c>,
        identity: &'c Identity,
        deadline: Option<Instant>,
    ) -> Self {
        let kustomizations = fleet
            .nodes
            .iter()
            .filter(|node| node.source == Source::This && !matches!(node.product, Err(Problem::Invalid(_))));
        let kustomizations = kustomizations.filter_map(|node| node.kustomization.as_ref());
        let named = kustomizations.filter(|one| !one.spec.source_ref.kind.is_empty());
        let own = named.map(|one| (one.spec.source_ref.kind.as_str(), one.source()));
        Self {
            fleet,
            places,
            identity,
            deadline,
            objects: Objects::of(fleet),
            own: own.collect(),
            unbuilt: unbuilt(fleet).map(Node::shown).collect(),
            definitions: OnceCell::new(),
        }
    }

    /// A finding with the name of its cluster, if there are several.
    pub(crate) fn named(&self, finding: Finding, clusters: usize) -> Finding {
        match clusters {
            0 | 1 => finding,
            _ => finding.cluster(shown_folder(&self.fleet.entry)),
        }
    }

    /// Whether a source is the repository itself.
    pub(crate) fn is_repository(&self, kind: &str, name: &ObjectName) -> bool {
        let url_of = |name: &ObjectName| {
            let object = self.fleet.object(SOURCE_GROUP, kind, name)?;
            object.value.pointer("/spec/url")?.as_str()
        };
        if self.own.iter().any(|(own, of)| (*own, of) == (kind, name)) {
            return true;
        }
        let Some(url) = url_of(name) else { return false };
        let is_own = |(own, of): &(&str, ObjectName)| *own == kind && url_of(of).is_some_and(|own| is_same(own, url));
        self.identity.has(url) || self.own.iter().any(is_own)
    }

    /// Whether something has made a source that no Kustomization builds: what reconciles the entry.
    pub(crate) fn is_implied(&self, kind: &str, name: &ObjectName) -> bool {
        let is_own = self.own.iter().any(|(own, of)| (*own, of) == (kind, name));
        // What `flux bootstrap` and Flux's operator call it.
        let is_root = (name.namespace.as_str(), name.name.as_str()) == ("flux-system", "flux-system");
        let is_found = self
            .fleet
            .nodes
            .first()
            .is_some_and(|root| root.kustomization.is_some());
        is_own || (is_root && !is_found && matches!(kind, "GitRepository" | "OCIRepository" | "Bucket"))
    }

    /// A finding about an object of a node, at the value of a field.
    pub(crate) fn at(
        &self,
        rule: Rule,
        node: &Node,
        object: &FleetObject,
        pointer: &str,
        message: impl Into<String>,
    ) -> Finding {
        self.finding(rule, node, object, message)
            .placed(self.place(node, object, pointer, Part::Value))
    }

    /// The same, at its key.
    pub(crate) fn at_key(
        &self,
        rule: Rule,
        node: &Node,
        object: &FleetObject,
        pointer: &str,
        message: impl Into<String>,
    ) -> Finding {
        self.finding(rule, node, object, message)
            .placed(self.place(node, object, pointer, Part::Key))
    }

    /// The place of a field of an object that a node gives: in the object's own file, or in a patch among the files
    /// that the node was built from or in its Kustomization; the value of a variable, if the field is one. The object's
    /// place if none of them has the field with this value.
    pub(crate) fn place(&self, node: &Node, object: &FleetObject, pointer: &str, part: Part) -> Option<Place> {
        let exact = self.exact_place(node, object, pointer, part);
        let variable = || {
            // What has become a number is to be a text where it is used.
            object.value.pointer(pointer)?.as_str()?;
            let written = self.places.written(object, pointer)?;
            self.of_variable(node, variable_of(&written)?)
        };
        let of_variable = exact.as_ref().filter(|_| part == Part::Value).and_then(|_| variable());
        of_variable.or(exact).or_else(|| self.places.of(object, pointer, part))
    }

    /// The same; none if none of them has the field with this value.
    pub(crate) fn exact_place(&self, node: &Node, object: &FleetObject, pointer: &str, part: Part) -> Option<Place> {
        let origin = object.origin.as_deref()?;
        let own = self.places.exact(origin, &object.value, pointer, part);
        own.or_else(|| {
            let product = node.product.as_ref().ok()?;
            let of_file = self.places.in_patch(product.reads.paths(), object, pointer, part);
            of_file.or_else(|| {
                let of_spec = self.in_spec(node, &object.value, pointer, part);
                of_spec.or_else(|| {
                    self.places
                        .in_kustomization(product.reads.paths(), &object.value, pointer, part)
                })
            })
        })
    }

    /// The place of a field of an object in a patch of the Kustomization that gives it.
    fn in_spec(&self, node: &Node, object: &Value, pointer: &str, part: Part) -> Option<Place> {
        let patches = &node.kustomization.as_ref()?.spec.patches;
        // The last one wins.
        let mut patches = patches.iter().enumerate().rev();
        patches.find_map(|(at, patch)| {
            let kind = patch.target.as_ref().map(|target| target.kind.as_str());
            let kind = kind.filter(|kind| !kind.is_empty());
            let inner = given_by(&patch.patch, kind, object, (pointer, part))?;
            let place = self.exact_in_kustomization(node, &format!("/spec/patches/{at}/patch"))?;
            Some(self.places.within(place, &patch.patch, inner))
        })
    }

    /// The place of the value of a variable: in the Kustomization, or in a ConfigMap that it takes variables from.
    fn of_variable(&self, node: &Node, name: &str) -> Option<Place> {
        let kustomization = node.kustomization.as_ref()?;
        let post_build = kustomization.spec.post_build.as_ref()?;
        if post_build.substitute.contains_key(name) {
            return self.exact_in_kustomization(node, &format!("/spec/postBuild/substitute/{name}"));
        }
        let namespace = kustomization.metadata.namespace_or_default();
        let mut references = post_build.substitute_from.iter().rev();
        references.find_map(|reference| {
            let map = ObjectName::new(namespace, reference.name.as_str());
            let map = self.fleet.object("", "ConfigMap", &map);
            let map = map.filter(|_| reference.kind == "ConfigMap")?;
            let pointer = format!("/data/{name}");
            map.value.pointer(&pointer)?;
            self.places
                .exact(map.origin.as_deref()?, &map.value, &pointer, Part::Value)
        })
    }

    /// The place of a field of the Kustomization of a node; none if no file has it with this value.
    fn exact_in_kustomization(&self, node: &Node, pointer: &str) -> Option<Place> {
        let object = self.fleet.object(KUSTOMIZE_GROUP, "Kustomization", &node.name()?)?;
        match node.parent.and_then(|parent| self.fleet.nodes.get(parent)) {
            Some(parent) => self.exact_place(parent, object, pointer, Part::Value),
            None => self
                .places
                .exact(object.origin.as_deref()?, &object.value, pointer, Part::Value),
        }
    }

    /// What gives the object of a release; of another node itself.
    pub(crate) fn giver<'n>(&self, node: &'n Node) -> &'n Node
    where
        'c: 'n,
    {
        let parent = node.parent.filter(|_| node.release.is_some());
        parent.and_then(|parent| self.fleet.nodes.get(parent)).unwrap_or(node)
    }

    /// The name of the Kustomization that a node is of, by those above it for a release.
    pub(crate) fn kustomization_of(&self, node: &Node) -> Option<ObjectName> {
        let mut node = node;
        while node.name().is_none() {
            node = self.fleet.nodes.get(node.parent?)?;
        }
        node.name()
    }

    /// The place of a field of a Kustomization; of the Kustomization, if no file has the field.
    pub(crate) fn place_in_kustomization(&self, node: &Node, pointer: &str) -> Option<Place> {
        let name = node.name();
        let object = name.and_then(|name| self.fleet.object(KUSTOMIZE_GROUP, "Kustomization", &name));
        match object.filter(|object| object.origin.is_some()) {
            Some(object) => {
                let exact = self.exact_in_kustomization(node, pointer);
                exact.or_else(|| self.places.of(object, pointer, Part::Value))
            }
            None => node.origin.as_deref().and_then(super::places::split),
        }
    }

    /// The path of the repository that may be meant by one that it does not have.
    pub(crate) fn near_path(&self, path: &str) -> Option<String> {
        let tree = self.places.tree();
        nearest_path(path, |folder| tree.list(&format!("/{folder}")).ok())
    }

    fn finding(&self, rule: Rule, node: &Node, object: &FleetObject, message: impl Into<String>) -> Finding {
        let finding = Finding::new(rule, message).object(title(&object.value));
        let finding = of_node(finding, node, &object.value);
        // A generated object is in no file: the Kustomization that builds it is.
        let own = node.origin.as_deref().and_then(super::places::split);
        match (&object.origin, own) {
            (None, Some(place)) => finding.placed(Some(place)),
            _ => finding,
        }
    }

    /// A finding about a missing object of a kind. It is a note if a file defines it that belongs to
    /// what was not built: one that another namespace has was built.
    pub(crate) fn missing_object(&self, finding: Finding, group: &str, kind: &str, name: &ObjectName) -> Finding {
        let mut others = self
            .fleet
            .identities()
            .filter(|(id, _)| id.group == group && id.kind == kind);
        let file = if self.unbuilt.is_empty() || others.any(|(id, _)| id.name.name == name.name) {
            None
        } else {
            let index = self.definitions.get_or_init(|| definitions(self.places));
            index.get(&(kind.to_owned(), name.name.clone()))
        };
        match file {
            None => self.missing(finding, self.suggestion(group, kind, name)),
            Some(file) => finding.severity(Severity::Note).help(format!(
                "{file} has one of that name, which no Kustomization that was built gives"
            )),
        }
    }

    /// A finding about a missing object. It is a warning if the object may be in a Kustomization that was not built.
    pub(crate) fn missing(&self, finding: Finding, suggestion: Option<String>) -> Finding {
        let finding = Self::suggesting(finding, suggestion);
        // What needs the object does not give it.
        let own = finding.object.as_deref();
        let own = own.map(|own| own.strip_prefix("Kustomization ").unwrap_or(own).to_owned());
        let unbuilt = self.unbuilt.iter().map(String::as_str);
        let unbuilt = unbuilt.filter(|name| own.as_deref() != Some(*name));
        let unbuilt: Vec<&str> = unbuilt.collect();
        if unbuilt.is_empty() {
            return finding;
        }
        let finding = Finding {
            severity: finding.severity.min(Severity::Warning),
            ..finding
        };
        let (named, more) = (
            unbuilt.get(..FEW).unwrap_or(&unbuilt),
            unbuilt.len().saturating_sub(FEW),
        );
        let named = named.join(", ");
        let unknown = match more {
            0 => format!("it may be in what was not built: {named}"),
            more => format!("it may be in what was not built: {named} and {more} more"),
        };
        match finding.help.clone() {
            Some(_) => finding,
            None => finding.help(unknown),
        }
    }

    /// A finding about a missing object that is nowhere, with the one that may be meant.
    pub(crate) fn suggesting(finding: Finding, suggestion: Option<String>) -> Finding {
        match suggestion {
            Some(near) => finding.help(format!("did you mean {near}?")),
            None => finding,
        }
    }

    /// The nodes that were not built and may have what is missing.
    pub(crate) fn unbuilt_nodes(&self) -> impl Iterator<Item = &'c Node> {
        unbuilt(self.fleet)
    }

    /// Whether all of it was built.
    pub(crate) fn is_whole(&self) -> bool {
        self.unbuilt.is_empty()
    }

    /// The object of a kind that is meant by a name that does not exist: a similar one in the namespace,
    /// or one of another.
    pub(crate) fn suggestion(&self, group: &str, kind: &str, wanted: &ObjectName) -> Option<String> {
        let ids = self
            .fleet
            .identities()
            .filter(|(id, _)| id.group == group && id.kind == kind);
        let names: BTreeSet<&ObjectName> = ids.map(|(id, _)| &id.name).collect();
        meant(&names, wanted).map(ToString::to_string)
    }

    /// Whether an object has a name with variables that may turn out to be this one: `web-${tier}` may be `web-blue`.
    pub(crate) fn may_be_named(&self, group: &str, kind: &str, wanted: &ObjectName) -> bool {
        let mut ids = self
            .fleet
            .identities()
            .filter(|(id, _)| id.group == group && id.kind == kind);
        ids.any(|(id, _)| may_be(&id.name.name, &wanted.name) && may_be(&id.name.namespace, &wanted.namespace))
    }

    /// All objects with their nodes, but for those that are encrypted as a whole. Objects for other
    /// clusters are among them. They end early when the time of the check is over, whose findings are then dropped.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Object<'c>> {
        let objects = self.objects.readable.iter().copied();
        objects.take_while(move |_| !self.is_late())
    }

    /// Whether the time of the check is over.
    pub(crate) fn is_late(&self) -> bool {
        is_over(self.deadline)
    }

    /// The objects that are encrypted as a whole.
    pub(crate) fn sealed(&self) -> impl Iterator<Item = Object<'c>> {
        self.objects.sealed.iter().copied()
    }

    /// The objects of a kind in this cluster. They end early as all objects do.
    pub(crate) fn of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = Object<'c>> {
        let objects = self.objects.of_kind(group, kind).iter().copied();
        objects.take_while(move |_| !self.is_late())
    }
}

/// The variable that a text is, with operators or without.
fn variable_of(text: &str) -> Option<&str> {
    let expression = text.strip_prefix("${")?.strip_suffix('}')?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = expression.split(|c: char| !is_part(c)).next()?;
    (!name.is_empty() && !expression.contains('}')).then_some(name)
}

/// Whether a text is another one once its variables have values.
pub(super) fn may_be(open: &str, text: &str) -> bool {
    let Some((start, rest)) = open.split_once("${") else {
        return open == text;
    };
    let end = rest.rsplit_once('}').map_or("", |(_, end)| end);
    text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
}

/// The name that is meant by one that does not exist: a similar one in the namespace, or the same in another.
pub(crate) fn meant<'n>(names: &BTreeSet<&'n ObjectName>, wanted: &ObjectName) -> Option<&'n ObjectName> {
    let beside = names.iter().filter(|name| name.namespace == wanted.namespace);
    let near = nearest(&wanted.name, beside.clone().map(|name| name.name.as_str()));
    let near = near.and_then(|near| beside.clone().find(|name| name.name == near));
    near.or_else(|| names.iter().find(|name| name.name == wanted.name))
        .copied()
}

/// The longest file that is searched for definitions.
const LONGEST: usize = 1 << 20;

/// Kinds and names of the objects in the YAML files of the repository, by the lines that say them: files that are
/// templates have them, too.
fn definitions(places: &Places<'_>) -> BTreeMap<(String, String), String> {
    let mut definitions = BTreeMap::new();
    each_file(places.tree(), "/", &mut |path| {
        let is_yaml = bumpwright_edit::file_kind(path) == bumpwright_edit::FileKind::Yaml;
        let bytes = is_yaml.then(|| places.tree().read(&format!("/{path}")).ok()).flatten();
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() <= LONGEST) {
            let text = String::from_utf8_lossy(&bytes);
            for document in text.split("\n---") {
                if let Some(id) = kind_and_name(document) {
                    definitions.entry(id).or_insert_with(|| path.to_owned());
                }
            }
        }
        true
    });
    definitions
}

/// Kind and name of a document.
fn kind_and_name(document: &str) -> Option<(String, String)> {
    let value = |line: &str, key: &str| {
        let value = line.strip_prefix(key)?.trim();
        let value = value.split(" #").next().unwrap_or(value);
        let value = value.rsplit(' ').next().unwrap_or(value);
        Some(value.trim_matches(['"', '\'']).to_owned())
    };
    let kind = document.lines().find_map(|line| value(line, "kind:"))?;
    let mut below = document
        .lines()
        .skip_while(|line| !line.starts_with("metadata:"))
        .skip(1);
    let name = below.find_map(|line| {
        if line.starts_with([' ', '\t']) {
            value(line.trim_start(), "name:").map(Some)
        } else {
            Some(None)
        }
    });
    Some((kind, name??))
}

fn unbuilt(fleet: &Fleet) -> impl Iterator<Item = &Node> {
    let nodes = fleet.nodes.iter();
    nodes.filter(|node| node.product.is_err() && !gives_no_names(node))
}

/// Whether a Kustomization only gives what nothing refers to: Flux's own manifests, or the definitions
/// of the Gateway API.
fn gives_no_names(node: &Node) -> bool {
    let (Source::Other(source) | Source::Unknown(source, _)) = &node.source else {
        return false;
    };
    let Some(url) = source.url() else { return false };
    let url = url.trim_end_matches('/').trim_end_matches(".git");
    [
        "/fluxcd/flux-manifests",
        "/fluxcd/flux2",
        "/kubernetes-sigs/gateway-api",
    ]
    .iter()
    .any(|end| url.ends_with(end))
}

/// A finding with the Kustomization that builds an object, or the release and the template of its chart.
pub(crate) fn of_node(finding: Finding, node: &Node, object: &Value) -> Finding {
    match (node.name(), &node.release) {
        (Some(name), _) => finding.kustomization(name.to_string()),
        (None, Some(release)) => {
            let product = node.product.as_ref().ok();
            let template = product.and_then(|product| product.template(object));
            finding.release(release.name.to_string(), template.map(str::to_owned))
        }
        (None, None) => finding,
    }
}

/// A finding at a place, if it is known.
pub(crate) trait Placed {
    fn placed(self, place: Option<Place>) -> Self;
}

impl Placed for Finding {
    fn placed(mut self, place: Option<Place>) -> Self {
        self.place = place.or(self.place);
        self
    }
}

/// `Kind namespace/name`.
pub(crate) fn title(object: &Value) -> String {
    let ObjectId { name, kind, .. } = ObjectId::of(object);
    match name.namespace.as_str() {
        "" => format!("{kind} {}", name.name),
        namespace => format!("{kind} {namespace}/{}", name.name),
    }
}

/// The name of an object, with the default namespace.
pub(crate) fn name_of(object: &Value) -> ObjectName {
    let name = ObjectId::of(object).name;
    ObjectName::referred_from(bumpwright_api::DEFAULT_NAMESPACE, Some(&name.namespace), &name.name)
}

/// The text of a field.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.text_at(pointer)
}

/// The values that a pattern selects, each with its JSON pointer; `*` is any item of a list.
pub(crate) fn select<'v>(value: &'v Value, pattern: &str) -> Vec<(String, &'v Value)> {
    let mut selected = vec![(String::new(), value)];
    for step in pattern.split('/').skip(1) {
        let mut next = Vec::new();
        for (pointer, value) in selected {
            match (step, value) {
                ("*", Value::Array(items)) => {
                    let items = items.iter().enumerate();
                    next.extend(items.map(|(at, item)| (format!("{pointer}/{at}"), item)));
                }
                (step, value) => next.extend(value.get(step).map(|below| (format!("{pointer}/{step}"), below))),
            }
        }
        selected = next;
    }
    selected
}

/// Whether a text fits a pattern in which `*` stands for any text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return pattern == text;
    };
    let Some(mut rest) = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    middle.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kind_and_name_of_a_document_are_in_its_lines() {
        let of = |text: &str| kind_and_name(text).map(|(kind, name)| format!("{kind} {name}"));
        let text =
            "apiVersion: v1\nkind: Secret # a\nmetadata:\n  labels: {a: b}\n  name: &name 'x'\nspec:\n  name: y\n";
        assert_eq!(of(text).as_deref(), Some("Secret x"));
        assert_eq!(of("kind: A\nmetadata:\n  labels: {}\nspec:\n  name: y\n"), None);
        assert_eq!(of("a: b\n"), None);
    }

    #[test]
    fn a_text_may_be_a_variable() {
        for (text, name) in [
            ("${A_1}", Some("A_1")),
            ("${A:=b}", Some("A")),
            ("${A}${B}", None),
            ("x${A}", None),
            ("${}", None),
        ] {
            assert_eq!(variable_of(text), name, "{text}");
        }
    }

    #[test]
    fn patterns_select_items_of_lists() {
        let value = json!({"a": [{"b": 1}, {"c": 2}, {"b": 3}]});
        let found = select(&value, "/a/*/b");
        let found: Vec<(&str, i64)> = found
            .iter()
            .map(|(pointer, value)| (pointer.as_str(), value.as_i64().unwrap_or_default()))
            .collect();
        assert_eq!(found, [("/a/0/b", 1), ("/a/2/b", 3)]);
    }
}
