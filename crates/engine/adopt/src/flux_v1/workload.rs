//! Workloads and HelmReleases with annotations of Flux v1, and the images in them.

use bumpwright_api::tree::{Entry, Node};
use bumpwright_edit::Part;
use bumpwright_policy::LatestRef;

use super::pattern::NoPolicy;
use crate::fields::{below, dotted};
use crate::remarks::At;

const PREFIXES: [&str; 2] = ["fluxcd.io/", "flux.weave.works/"];
const FILTER: &str = "filter.fluxcd.io/";
const MAPPED: [&str; 3] = ["registry.fluxcd.io/", "repository.fluxcd.io/", "tag.fluxcd.io/"];

/// Annotations of the names above that are not of Flux v1's daemon.
const OTHERS: [&str; 2] = ["sync-checksum", "sync-gc-mark"];

/// An object with annotations of Flux v1.
pub(super) struct Workload<'n> {
    pub(super) file: usize,
    pub(super) node: &'n Node,
    pub(super) metadata: &'n Node,
    entries: Vec<&'n Entry>,
}

/// An image of a container.
pub(super) struct Container<'n> {
    pub(super) name: String,
    pub(super) image: String,
    /// The fields that are written, with what each holds.
    pub(super) fields: Result<Vec<(&'n Node, Part)>, NoPolicy>,
    pub(super) node: &'n Node,
}

/// Whether a text may have annotations of a workload that is automated.
pub(super) fn mentioned(text: &str) -> bool {
    PREFIXES
        .iter()
        .any(|prefix| text.contains(&format!("{prefix}automated")))
}

/// What an annotation is, without its prefix.
fn own_key(name: &str) -> Option<String> {
    if let Some(container) = name.strip_prefix(FILTER) {
        return Some(format!("tag.{container}"));
    }
    let key = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    (!OTHERS.contains(&key)).then(|| key.to_owned())
}

impl<'n> Workload<'n> {
    /// An object with such annotations.
    pub(super) fn read(file: usize, node: &'n Node) -> Option<Self> {
        let metadata = node.field("metadata")?;
        let annotations = metadata.field("annotations")?.entries();
        let is_mapped = |name: &str| MAPPED.iter().any(|prefix| name.starts_with(prefix));
        let entries: Vec<&Entry> = annotations
            .iter()
            .filter(|entry| own_key(entry.name()).is_some() || is_mapped(entry.name()))
            .collect();
        (!entries.is_empty()).then_some(Self {
            file,
            node,
            metadata,
            entries,
        })
    }

    pub(super) fn at(&self) -> At {
        let place = self.node.place;
        At { file: self.file, place }
    }

    pub(super) fn name(&self) -> &'n str {
        self.metadata.text_of("name")
    }

    pub(super) fn subject(&self) -> String {
        let kind = self.node.text_of("kind");
        match self.metadata.field_text("namespace") {
            Some(namespace) => format!("{kind} {namespace}/{}", self.name()),
            None => format!("{kind} {}", self.name()),
        }
    }

    pub(super) fn keys(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.name().to_owned()).collect()
    }

    /// The value of an annotation, by its name of now.
    pub(super) fn get(&self, key: &str) -> Option<(&'n str, At)> {
        let entry = self
            .entries
            .iter()
            .find(|entry| own_key(entry.name()).as_deref() == Some(key))?;
        let at = At {
            file: self.file,
            place: entry.key.place,
        };
        Some((entry.node.text()?, at))
    }

    pub(super) fn is(&self, key: &str) -> bool {
        self.get(key).is_some_and(|(value, _)| value == "true")
    }

    /// Containers that patterns are given for.
    pub(super) fn patterns(&self) -> Vec<String> {
        let keys = self.entries.iter().filter_map(|entry| own_key(entry.name()));
        keys.filter_map(|key| key.strip_prefix("tag.").map(str::to_owned))
            .collect()
    }

    /// All containers of it.
    pub(super) fn containers(&self) -> Vec<Container<'n>> {
        match self.node.field_text("kind") {
            Some("HelmRelease" | "FluxHelmRelease") => self.release(),
            _ => self.pod(),
        }
    }

    fn pod(&self) -> Vec<Container<'n>> {
        let ways: [&[&str]; 2] = [
            &["spec", "template", "spec"],
            &["spec", "jobTemplate", "spec", "template", "spec"],
        ];
        let pod = ways.into_iter().find_map(|way| below(self.node, way));
        let lists = ["containers", "initContainers"];
        let lists = lists.into_iter().filter_map(|key| pod?.field(key));
        let containers = lists.flat_map(|list| list.items().iter());
        containers
            .filter_map(|container| {
                let field = container.field("image")?;
                let (image, ..) = LatestRef::split(field.text()?);
                Some(Container {
                    name: container.text_of("name").to_owned(),
                    image: image.to_owned(),
                    fields: Ok(vec![(field, Part::Reference)]),
                    node: field,
                })
            })
            .collect()
    }

    // -- values of HelmReleases, as Flux v1 read them (pkg/cluster/kubernetes/resource/helmrelease.go)

    fn release(&self) -> Vec<Container<'n>> {
        let Some(values) = below(self.node, &["spec", "values"]) else {
            return Vec::new();
        };
        let mapped = self.mapped(values);
        let top = in_values("chart-image", values);
        let below = values
            .entries()
            .iter()
            .filter_map(|entry| in_values(entry.name(), &entry.node));
        let images = top.into_iter().chain(below);
        let is_mapped = |container: &Container<'_>| mapped.iter().any(|other| other.name == container.name);
        let mut containers: Vec<Container<'n>> = images.filter(|container| !is_mapped(container)).collect();
        containers.extend(mapped);
        containers
    }

    /// Containers whose fields are named by annotations.
    fn mapped(&self, values: &'n Node) -> Vec<Container<'n>> {
        let [registry, repository, tag] = MAPPED;
        let path = |prefix: &str, container: &str| {
            let name = format!("{prefix}{container}");
            let entry = self.entries.iter().find(|entry| entry.name() == name)?;
            dotted(values, entry.node.text()?)
        };
        let containers = self
            .entries
            .iter()
            .filter_map(|entry| entry.name().strip_prefix(repository));
        containers
            .filter_map(|container| {
                let name = path(repository, container)?;
                Some(of_fields(
                    container,
                    name,
                    path(registry, container),
                    path(tag, container),
                ))
            })
            .collect()
    }
}

/// A mapping with `image`: a reference or a name, or a mapping with `repository`; `registry` and `tag`
/// may be beside it.
fn in_values<'n>(name: &str, values: &'n Node) -> Option<Container<'n>> {
    let image = values.field("image")?;
    let (map, field) = match image.text() {
        Some(_) => (values, image),
        None => (image, image.field("repository")?),
    };
    Some(of_fields(name, field, map.field("registry"), map.field("tag")))
}

fn of_fields<'n>(container: &str, name: &'n Node, registry: Option<&'n Node>, tag: Option<&'n Node>) -> Container<'n> {
    let text = |node: Option<&'n Node>| node.and_then(Node::text);
    let (image, written, _) = LatestRef::split(name.scalar_text());
    let full = match text(registry) {
        Some(registry) => format!("{registry}/{image}"),
        None => image.to_owned(),
    };
    let fields = match (registry, tag) {
        (None, Some(tag)) => Ok(vec![(name, Part::Name), (tag, Part::Tag)]),
        (Some(_), Some(tag)) => Ok(vec![(tag, Part::Tag)]),
        (None, None) if written.is_some() => Ok(vec![(name, Part::Reference)]),
        (None, None) => Err(NoPolicy::NoTag),
        (Some(_), None) => Err(NoPolicy::NoTagField),
    };
    Container {
        name: container.to_owned(),
        image: full,
        fields,
        node: name,
    }
}
