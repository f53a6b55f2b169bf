//! Which values of the HelmReleases in some files are images, by rendering their charts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::open;
use super::outside::Network;
use super::outside::UserOutside;
use crate::cli::fetch_bounds::FetchBounds;
use bumpwright_adopt::{Files, Parsed};
use bumpwright_api::tree::Node;
use bumpwright_api::{ObjectName, group_kind};
use bumpwright_budget::{self as budget, Memory};
use bumpwright_build::FolderTree;
use bumpwright_fleet::{Charts, ClusterObjects, FleetObject, GeneratedValues, Settings, clean};
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_propose::Rendered;
use bumpwright_schemas::Schemas;
use bumpwright_yaml::FileId;
use serde_json::Value;

/// The time limit for a chart.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The time limit for all releases.
const ALL: Duration = Duration::from_secs(120);

/// Where charts come from.
pub(in crate::cli) struct ChartPlaces<'a> {
    /// A folder or file of the repository.
    pub(in crate::cli) folder: &'a Path,
    /// `--charts`
    pub(in crate::cli) charts: Option<PathBuf>,
}

/// What the releases in files of YAML make of their values; nothing if absent, or no repository.
pub(in crate::cli) fn image_values(files: &Files<'_>, places: &ChartPlaces<'_>) -> Rendered {
    let objects: Vec<FleetObject> = files.parsed.iter().flat_map(|file| objects(file.text)).collect();
    let is_release = |object: &FleetObject| group_kind(&object.value) == ("helm.toolkit.fluxcd.io", "HelmRelease");
    if !objects.iter().any(is_release) {
        return Rendered::default();
    }
    let (Ok(real), Ok(schemas)) = (fs::canonicalize(places.folder), Schemas::bundled(None)) else {
        return Rendered::default();
    };
    let root = open::root_above(&real).unwrap_or(real);
    let Ok(tree) = FolderTree::new(&root) else {
        return Rendered::default();
    };
    let generated: Vec<GeneratedValues> = files.parsed.iter().flat_map(generated).collect();
    let identity = open::identity(&root);
    let network = Network::new(FetchBounds::default(), TIMEOUT, &identity);
    let outside = UserOutside::new(network, false, Some(root), identity.clone(), places.charts.clone());
    let mut settings = Settings::new(Memory::single(budget::SINGLE, budget::BUILD_MEMORY).of(""));
    settings.identity = identity;
    settings.charts = Some(Charts::new(String::new(), schemas));
    let cluster = ClusterObjects {
        source: own_source(&objects),
        objects,
        others: BTreeSet::new(),
    };
    let end = Instant::now() + ALL;
    bumpwright_fleet::image_values((&tree, &generated), &cluster, &outside, &settings, end)
}

/// The files that the generators of a kustomization make ConfigMaps of.
fn generated(file: &Parsed<'_>) -> Vec<GeneratedValues> {
    let path = &file.source.path;
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if !NAMES.contains(&name) {
        return Vec::new();
    }
    let mut generated = Vec::new();
    for document in &file.documents {
        let Some(generators) = document.field("configMapGenerator") else {
            continue;
        };
        for generator in generators.items() {
            let text = |node: &Node, field: &str| node.text_of(field).to_owned();
            let namespace = match text(generator, "namespace") {
                own if own.is_empty() => text(document, "namespace"),
                own => own,
            };
            let files = generator.field("files").map_or(&[][..], |files| files.items());
            for entry in files.iter().filter_map(|entry| entry.text()) {
                let (key, path) = entry.split_once('=').unwrap_or_else(|| {
                    let name = entry.rsplit('/').next().unwrap_or(entry);
                    (name, entry)
                });
                generated.push(GeneratedValues {
                    name: ObjectName::new(namespace.as_str(), text(generator, "name")),
                    key: key.to_owned(),
                    path: clean(&format!("{folder}/{path}")),
                });
            }
        }
    }
    generated
}

/// The GitRepository of the repository: the only one, or that of `flux bootstrap`. One with the address of a
/// remote is known anyway.
fn own_source(objects: &[FleetObject]) -> ObjectName {
    let mut sources = objects.iter().filter(|object| is_of(&object.value, "GitRepository"));
    match (sources.next(), sources.next()) {
        (Some(only), None) => only.id().name,
        _ => ObjectName::new("flux-system", "flux-system"),
    }
}

fn is_of(object: &Value, kind: &str) -> bool {
    group_kind(object) == ("source.toolkit.fluxcd.io", kind)
}

/// The objects of a text that releases are made of.
fn objects(text: &str) -> Vec<FleetObject> {
    let is_wanted = |object: &Value| {
        let (group, kind) = group_kind(object);
        matches!(group, "helm.toolkit.fluxcd.io" | "source.toolkit.fluxcd.io") || (group, kind) == ("", "ConfigMap")
    };
    // What does not parse is reported elsewhere.
    let nodes = bumpwright_yaml::read_resources(text.as_bytes(), FileId::NONE).unwrap_or_default();
    let values = nodes
        .into_iter()
        .filter_map(|node| bumpwright_yaml::json_of_node(&node).ok());
    let values = values.filter(is_wanted);
    values.map(|value| FleetObject { value, origin: None }).collect()
}
