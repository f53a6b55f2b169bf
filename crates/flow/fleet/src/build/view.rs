//! A fleet: its Kustomizations, as a tree, and all their objects.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::reads::Reads;
use super::references::References;
use crate::release::chart_crds::ChartCrds;
use crate::release::failure::ReleaseFailure;
use crate::release::held_chart::HeldChart;
use crate::release::hook;
use crate::release::kept_inputs::ReleaseInputs;
use crate::release::spec::is_release;
use crate::source::meant::Source;
use bumpwright_api::{Kustomization, ObjectId, ObjectName};
use bumpwright_helm::{UnreadValue, Values};
use bumpwright_json::Texts;
use bumpwright_kustomize::LostItems;
use bumpwright_overlay::{Fault, FaultKind, Hidden, LeftOut, NotText, OverlayError, UndefinedVariable};

/// What a cluster that reconciles an entry of a repository would have.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// The entry: a folder or file of the repository, without a leading slash; empty for its root.
    pub entry: String,
    /// The Kustomizations, parents before those that they give. The first one is the entry.
    pub nodes: Vec<Node>,
    /// Where the objects are: node, and position in its product.
    index: HashMap<ObjectId, Vec<(usize, usize)>>,
    /// Problems of the walk itself: bounds that were exceeded.
    pub problems: Vec<String>,
    /// What the cluster has besides: the Kustomization that reconciles the entry and its source, where somebody has
    /// applied a file that no Kustomization builds.
    pub(crate) applied: Vec<FleetObject>,
    /// Whether it begins with objects of an API server, which has others besides.
    pub(crate) is_of_server: bool,
    /// The inputs of its HelmReleases, if they are rendered.
    pub(crate) releases: BTreeMap<ObjectName, ReleaseInputs>,
    /// What the definitions in their charts serve, if they are compared.
    pub(crate) served_by_charts: BTreeSet<String>,
}

/// A Kustomization of a fleet, or its entry.
#[derive(Clone, Debug)]
pub struct Node {
    /// The Kustomization. An entry that none reconciles has none.
    pub kustomization: Option<Kustomization>,
    /// The HelmRelease, if it is one.
    pub release: Option<ReleaseSummary>,
    /// What it is rendered from, if its chart was read.
    pub(crate) chart: Option<ReleaseChart>,
    /// The node that gives it.
    pub parent: Option<usize>,
    /// Its place in the files of its parent, as `path:line:column`.
    pub origin: Option<Box<str>>,
    /// The source of its files.
    pub source: Source,
    /// `spec.ignore` of its source, when that is the repository.
    pub ignore: Option<String>,
    /// `spec.path`, cleaned, without a leading slash; empty for the root.
    pub path: String,
    /// Objects that variables come from and that the fleet does not have.
    pub missing: Vec<MissingReference>,
    /// What was built, or why nothing was.
    pub product: Result<Arc<Product>, Problem>,
    /// The time that the build took; zero when it was known already.
    pub took: Duration,
}

/// A HelmRelease of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSummary {
    pub name: ObjectName,
    /// The name of its chart; empty if it is not known.
    pub chart: String,
    /// The version of its chart; empty if it is not known.
    pub version: String,
    /// `spec.suspend`
    pub is_suspended: bool,
    /// Whether it is installed in another cluster.
    pub is_elsewhere: bool,
    /// `spec.serviceAccountName`; empty if absent.
    pub service_account: String,
}

/// What a HelmRelease is rendered from.
#[derive(Clone, Debug)]
pub(crate) struct ReleaseChart {
    pub(crate) chart: Arc<HeldChart>,
    pub(crate) values: Arc<Values>,
}

/// A node that is not built yet.
const WAITING: &str = "not built";

/// An object that `substituteFrom` or `valuesFrom` names and that the fleet does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingReference {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    pub name: ObjectName,
    /// Whether it may be missing.
    pub optional: bool,
}

/// Why a Kustomization has no objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The build fails; in the controller's words, with places.
    #[error(transparent)]
    Build(BuildFailure),
    /// The fleet has more objects than are looked at.
    #[error("the fleet has more than {most} objects with these {objects}")]
    TooManyObjects { most: usize, objects: usize },
    /// The source is not available, so there is nothing to build.
    #[error("{0}")]
    Source(String),
    /// The object itself is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The chart of a release cannot be had here, though it may exist.
    #[error("{0}")]
    ChartUnavailable(String),
    /// The chart of a release does not exist, or is not valid.
    #[error("{0}")]
    Chart(String),
    /// The chart cannot be rendered with the values of the release; in Helm's words.
    #[error(transparent)]
    Release(ReleaseFailure),
    /// The time was over before it was built.
    #[error("not looked at: the time limit was reached")]
    Late,
}

/// The errors of a build, one at least.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct BuildFailure(pub Vec<Fault>);

impl BuildFailure {
    pub(crate) fn new(kind: FaultKind, text: String) -> Self {
        Self(vec![Fault { kind, text }])
    }
}

impl From<&OverlayError> for BuildFailure {
    fn from(error: &OverlayError) -> Self {
        Self(error.faults())
    }
}

fn lines(faults: &[Fault]) -> String {
    let texts: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
    texts.join("\n")
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct Product {
    /// The objects as they are applied, in the order of the build.
    pub objects: Vec<FleetObject>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Items of lists that merge patches have dropped.
    pub lost: Vec<LostItems>,
    /// Objects that would be refused when applied: encrypted ones without decryption.
    pub refused: Vec<String>,
    /// Labels, annotations and namespaces that are not texts: the Kustomization is not applied.
    pub not_texts: Vec<NotText>,
    /// Objects that variables have made invalid.
    pub left_out: Vec<LeftOut>,
    /// Variables in the objects that have no value.
    pub undefined: Vec<UndefinedVariable>,
    /// Confidential values, which are never printed.
    pub hidden: Hidden,
    /// The files that it was built from.
    pub reads: Reads,
    /// Values of a release that no template of its chart reads.
    pub unread: Vec<UnreadValue>,
    /// Addresses of schemas that the values of a release were not compared with.
    pub unfetched_schemas: Vec<String>,
    /// Which objects of a release are from the `crds/` of its chart.
    pub(crate) chart_crds: Option<ChartCrds>,
    /// Patches of a release's post-renderers that match none of its objects.
    pub(crate) unmatched: Vec<String>,
    /// Where the objects of a release come from.
    pub(crate) templates: ObjectTemplates,
}

/// The templates of the chart that objects are made by, by kind and name; none for an object that several make.
pub(crate) type ObjectTemplates = BTreeMap<(String, String), Option<String>>;

impl Product {
    /// Objects of no build.
    pub(crate) fn of(objects: Vec<FleetObject>) -> Self {
        Self {
            objects,
            warnings: Vec::new(),
            lost: Vec::new(),
            refused: Vec::new(),
            not_texts: Vec::new(),
            left_out: Vec::new(),
            undefined: Vec::new(),
            hidden: Hidden::default(),
            reads: Reads::default(),
            unread: Vec::new(),
            unfetched_schemas: Vec::new(),
            chart_crds: None,
            unmatched: Vec::new(),
            templates: ObjectTemplates::new(),
        }
    }

    /// The template of the chart that an object of a release comes from.
    pub(crate) fn template(&self, object: &Value) -> Option<&str> {
        let key = (
            object.text_of("kind").to_owned(),
            object.text_at("/metadata/name").to_owned(),
        );
        self.templates.get(&key)?.as_deref()
    }

    /// Whether a text has a confidential value in it.
    pub(crate) fn hides(&self, text: &str) -> bool {
        self.hidden.texts.iter().any(|hidden| text.contains(hidden.as_str()))
    }

    /// Why the controller would not apply it, although it is built.
    pub fn refusals(&self) -> impl Iterator<Item = String> {
        let not_texts = self.not_texts.iter().map(NotText::to_string);
        self.refused.iter().cloned().chain(not_texts)
    }
}

/// An object of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetObject {
    /// The object as it is applied.
    pub value: Value,
    /// Its place in the source, as `path:line:column`; none for a generated object.
    pub origin: Option<Box<str>>,
}

impl FleetObject {
    #[must_use]
    pub fn id(&self) -> ObjectId {
        ObjectId::of(&self.value)
    }

    /// Its labels or annotations. One that is not a text is among the [`NotText`] of its build.
    pub(crate) fn texts(&self, field: &str) -> BTreeMap<String, String> {
        let all = self
            .value
            .get("metadata")
            .and_then(|metadata| metadata.get(field)?.as_object());
        let texts = all
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        texts.collect()
    }

    /// Whether it says that it is deleted and made again when the API server refuses a change.
    pub(crate) fn has_force(&self) -> bool {
        self.wishes("kustomize.toolkit.fluxcd.io/force", "enabled")
    }

    /// Whether a label or an annotation with this key says so, in any case of letters: that is how kustomize-controller
    /// reads what an object wants of it.
    pub(crate) fn wishes(&self, key: &str, wanted: &str) -> bool {
        let metadata = self.value.get("metadata");
        ["labels", "annotations"].into_iter().any(|field| {
            let text = metadata.and_then(|metadata| metadata.get(field)?.get(key)?.as_str());
            text.is_some_and(|text| text.eq_ignore_ascii_case(wanted))
        })
    }

    #[must_use]
    pub fn api_version(&self) -> &str {
        self.value.text_of("apiVersion")
    }
}

impl Node {
    /// A node that is not built yet.
    pub(crate) fn waiting(parent: Option<usize>, path: &str) -> Self {
        Self {
            kustomization: None,
            release: None,
            chart: None,
            parent,
            origin: None,
            source: Source::This,
            ignore: None,
            path: path.to_owned(),
            missing: Vec::new(),
            product: Err(Problem::Build(BuildFailure::new(FaultKind::Other, WAITING.to_owned()))),
            took: Duration::ZERO,
        }
    }

    /// `Kustomization namespace/name` or `HelmRelease namespace/name`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.kind(), self.own_name())
    }

    /// `Kustomization` or `HelmRelease`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.release {
            Some(_) => "HelmRelease",
            None => "Kustomization",
        }
    }

    /// `namespace/name`, or the path of an entry.
    #[must_use]
    pub fn own_name(&self) -> String {
        match &self.release {
            Some(release) => release.name.to_string(),
            None => self.shown(),
        }
    }

    /// Whether it is the HelmRelease of this name.
    pub(crate) fn is_of_release(&self, name: &ObjectName) -> bool {
        self.release.as_ref().is_some_and(|release| release.name == *name)
    }

    /// How many HelmReleases it has for another cluster: they are not rendered, since what that cluster
    /// has is not known.
    #[must_use]
    pub fn releases_elsewhere(&self) -> usize {
        if self.is_elsewhere() {
            self.objects().iter().filter(|object| is_release(&object.value)).count()
        } else {
            0
        }
    }

    /// Where an object of it is a definition from the `crds/` of its chart: all of these.
    pub(crate) fn chart_crds(&self, object: &FleetObject) -> Option<&ChartCrds> {
        let crds = self.product.as_ref().ok()?.chart_crds.as_ref()?;
        crds.ids.contains(&object.id()).then_some(crds)
    }

    /// Whether an object of it is a hook of Helm, which an upgrade makes again, and never updates or deletes when it is
    /// gone from the chart.
    pub(crate) fn is_hook(&self, object: &FleetObject) -> bool {
        self.release.is_some() && hook::is_hook(&object.value)
    }

    /// Whether its controller leaves it alone.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        match &self.release {
            Some(release) => release.is_suspended,
            None => self.kustomization.as_ref().is_some_and(|one| one.spec.suspend),
        }
    }

    /// Whether it failed: not if a chart cannot be had here only.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        let problem = self.product.as_ref().err();
        problem.is_some_and(|problem| !matches!(problem, Problem::ChartUnavailable(_)))
    }

    /// Namespace and name of the Kustomization; none for an entry that none reconciles.
    #[must_use]
    pub fn name(&self) -> Option<ObjectName> {
        Some(self.kustomization.as_ref()?.metadata.object_name())
    }

    /// Its name in the fleet: `namespace/name`, `HelmRelease namespace/name`, or the path of an entry.
    #[must_use]
    pub fn shown(&self) -> String {
        match (self.name(), self.path.as_str()) {
            (Some(name), _) => name.to_string(),
            (None, "") => ".".to_owned(),
            (None, path) => path.to_owned(),
        }
    }

    /// Its objects; none if it was not built.
    #[must_use]
    pub fn objects(&self) -> &[FleetObject] {
        self.product.as_ref().map_or(&[], |product| product.objects.as_slice())
    }

    /// Whether the objects go to another cluster.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        let kustomization = self.kustomization.as_ref();
        kustomization.is_some_and(|kustomization| kustomization.spec.kube_config.is_some())
            || self.release.as_ref().is_some_and(|release| release.is_elsewhere)
    }
}

impl Fleet {
    #[must_use]
    pub(crate) fn new(entry: &str) -> Self {
        Self {
            entry: entry.to_owned(),
            ..Self::default()
        }
    }

    /// Whether it is what a folder builds by itself: there are objects, or a build that fails, and no Kustomization.
    pub(crate) fn is_plain(&self) -> bool {
        let entry = self.nodes.first();
        let has_objects = entry.is_some_and(|entry| entry.product.is_err() || !entry.objects().is_empty());
        has_objects && self.nodes.iter().all(|node| node.kustomization.is_none())
    }

    /// Adds the objects of a node to the index.
    pub(crate) fn index(&mut self, at: usize) {
        let Some(node) = self.nodes.get(at).filter(|node| !node.is_elsewhere()) else {
            return;
        };
        for (position, object) in node.objects().iter().enumerate() {
            self.index.entry(object.id()).or_default().push((at, position));
        }
    }

    /// Forgets where objects are.
    pub(crate) fn forget_index(&mut self) {
        self.index.clear();
    }

    /// All objects with the node that they belong to, in order.
    pub fn objects(&self) -> impl Iterator<Item = (&Node, &FleetObject)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|node| node.objects().iter().map(move |object| (node, object)))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| node.objects().len()).sum()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object of a group, kind and name in this cluster: the first one, if several Kustomizations have it. Objects
    /// without a namespace are in `default`.
    #[must_use]
    pub fn object(&self, group: &str, kind: &str, name: &ObjectName) -> Option<&FleetObject> {
        let of_namespace = |namespace: &str| {
            let id = ObjectId {
                name: ObjectName::new(namespace, name.name.as_str()),
                group: group.to_owned(),
                kind: kind.to_owned(),
            };
            match self.index.get(&id).and_then(|places| places.first()) {
                Some(&(node, position)) => self.nodes.get(node)?.objects().get(position),
                None => self.applied.iter().find(|object| object.id() == id),
            }
        };
        of_namespace(&name.namespace).or_else(|| match name.namespace.as_str() {
            bumpwright_api::DEFAULT_NAMESPACE => of_namespace(""),
            _ => None,
        })
    }

    /// The objects that a Kustomization takes variables from, in its order, and those of them that the
    /// fleet does not have.
    pub(crate) fn references(&self, kustomization: &Kustomization) -> (References, Vec<MissingReference>) {
        let namespace = kustomization.metadata.namespace_or_default();
        let (mut references, mut missing) = (References::new(), Vec::new());
        let post_build = kustomization.spec.post_build.iter();
        for reference in post_build.flat_map(|post_build| &post_build.substitute_from) {
            let name = ObjectName::new(namespace, reference.name.as_str());
            let referenced = self.object("", &reference.kind, &name);
            references.push(referenced.map(|object| Arc::new(object.value.clone())));
            if referenced.is_none() {
                missing.push(MissingReference {
                    kind: reference.kind.clone(),
                    name,
                    optional: reference.optional,
                });
            }
        }
        (references, missing)
    }

    /// The confidential texts of all builds.
    pub(crate) fn hidden_texts(&self) -> BTreeSet<String> {
        let products = self.nodes.iter().filter_map(|node| node.product.as_ref().ok());
        products
            .flat_map(|product| product.hidden.texts.iter().cloned())
            .collect()
    }

    /// The nodes that have an object, by its identity.
    pub fn owners(&self, id: &ObjectId) -> impl Iterator<Item = &Node> {
        let places = self.index.get(id).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|(node, _)| self.nodes.get(*node))
    }

    /// The identities of all objects of this cluster with the nodes that have them: `(node, position)`.
    pub fn identities(&self) -> impl Iterator<Item = (&ObjectId, &[(usize, usize)])> {
        self.index.iter().map(|(id, places)| (id, places.as_slice()))
    }

    /// All objects of a kind in this cluster, by the order of the nodes.
    pub fn of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = (&Node, &FleetObject)> {
        let here = self.objects().filter(|(node, _)| !node.is_elsewhere());
        here.filter(move |(_, object)| bumpwright_api::group_kind(&object.value) == (group, kind))
    }

    /// The Kustomization that a node is, or that gives it.
    #[must_use]
    pub fn owner(&self, node: &Node) -> Option<ObjectName> {
        let mut node = self.nodes.iter().find(|own| std::ptr::eq(*own, node))?;
        loop {
            match node.name() {
                Some(name) => return Some(name),
                None => node = self.nodes.get(node.parent?)?,
            }
        }
    }

    /// The node of a Kustomization.
    #[must_use]
    pub fn kustomization(&self, name: &ObjectName) -> Option<&Node> {
        let is_it = |one: &Kustomization| {
            one.metadata.name == name.name && one.metadata.namespace_or_default() == name.namespace
        };
        let mut nodes = self.nodes.iter();
        nodes.find(|node| node.kustomization.as_ref().is_some_and(is_it))
    }

    /// Whether the time limit was reached before all of it was built.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.nodes
            .iter()
            .any(|node| node.product.as_ref().is_err_and(|problem| *problem == Problem::Late))
    }

    /// Whether everything could be built.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && !self.nodes.iter().any(Node::is_failed)
    }
}
