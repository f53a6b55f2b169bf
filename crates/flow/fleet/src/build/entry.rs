//! The entry of a fleet: a folder or a file of the repository.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::instance;
use super::settings::GivenSource;
use super::view::{BuildFailure, FleetObject};
use crate::source::fetched::SOURCE_GROUP;
use crate::source::files::clean;
use crate::source::meant::SourceObject;
use bumpwright_api::Kustomization;
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::{Tree, TreeError, path};
use bumpwright_overlay::FaultKind;
use bumpwright_yaml::{Files, ReadError, WriteError, json_of_node, read_resources};

const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// Whether an object is a Kustomization of Flux.
pub(crate) fn is_kustomization(object: &Value) -> bool {
    bumpwright_api::group_kind(object) == (GROUP, "Kustomization")
}

/// An object is not a Kustomization.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidKustomization {
    #[error(transparent)]
    Fields(#[from] serde_json::Error),
    #[error("metadata.name is required")]
    NoName,
}

/// A file has no objects.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// It is not YAML. The place is the file at least.
    #[error("{place}: {problem}")]
    Syntax {
        place: String,
        #[source]
        problem: ReadError,
    },
    /// It has what JSON has not.
    #[error("{file}: {}", problem.go())]
    Value {
        file: String,
        #[source]
        problem: WriteError,
    },
}

impl FileError {
    /// The failure of a build that the file is all of.
    pub(crate) fn failure(&self) -> BuildFailure {
        let kind = match self {
            Self::Value { .. } => FaultKind::Manifest,
            Self::Tree(_) | Self::Syntax { .. } => FaultKind::Other,
        };
        BuildFailure::new(kind, self.to_string())
    }
}

/// The Kustomization of an object.
///
/// # Errors
/// The object is not valid.
pub(crate) fn parse(object: &Value) -> Result<Kustomization, InvalidKustomization> {
    let parsed: Kustomization = serde_json::from_value(object.clone())?;
    match parsed.metadata.name.as_str() {
        "" => Err(InvalidKustomization::NoName),
        _ => Ok(parsed),
    }
}

/// A Kustomization that builds a folder and adds nothing: for an entry whose own Kustomization is not known yet.
pub(crate) fn plain(folder: &str) -> Kustomization {
    let object = json!({"metadata": {"name": ""}, "spec": {"path": folder}});
    serde_json::from_value(object).unwrap_or_else(|_| Kustomization {
        metadata: bumpwright_api::Metadata::default(),
        spec: bumpwright_api::KustomizationSpec::default(),
    })
}

/// The Kustomization that reconciles the folder itself, among the objects that are built from it: the one that `flux
/// bootstrap` writes into `gotk-sync.yaml`. Paths of a source whose files are a folder of the repository begin there.
pub(crate) fn own<'o>(
    objects: &'o [FleetObject],
    folder: &str,
    given: &BTreeMap<String, GivenSource>,
) -> Option<(Kustomization, &'o FleetObject)> {
    let mut own = objects
        .iter()
        .filter(|object| is_kustomization(&object.value))
        .filter_map(|object| {
            let parsed = parse(&object.value).ok()?;
            let (path, kind) = (clean(&parsed.spec.path), parsed.spec.source_ref.kind.as_str());
            let is_own = match given.get(&SourceObject::of(&parsed).shown()) {
                Some(GivenSource::Folder(root)) => clean(&format!("{root}/{path}")) == folder,
                Some(GivenSource::Files(_)) => false,
                // At the root are other repositories, too.
                None => path == folder && (kind == "GitRepository" || (kind == "OCIRepository" && !path.is_empty())),
            };
            is_own.then_some((parsed, object))
        });
    own.next()
}

/// As [`own`], from the files below the folder: what `flux bootstrap` has applied need not be in the kustomization of
/// the folder. With its source, if that is in the same file.
pub(crate) fn own_in_files(
    tree: &dyn Tree,
    folder: &str,
    given: &BTreeMap<String, GivenSource>,
) -> Option<(Kustomization, FleetObject, Option<FleetObject>)> {
    yaml_files(tree, &format!("/{folder}")).into_iter().find_map(|file| {
        if !mentions(tree, &file, GROUP) {
            return None;
        }
        let objects = of_file(tree, file.trim_start_matches('/')).ok()?;
        let (kustomization, object) = own(&objects, folder, given)?;
        let source = SourceObject::of(&kustomization);
        let is_source = |object: &&FleetObject| {
            let id = object.id();
            id.kind == source.kind && id.name == source.name
        };
        let source = objects.iter().find(is_source).cloned();
        Some((kustomization, object.clone(), source))
    })
}

/// The objects of a file, with their places.
///
/// # Errors
/// The file is not YAML, with its place.
pub(crate) fn of_file(tree: &dyn Tree, file: &str) -> Result<Vec<FleetObject>, FileError> {
    let mut objects = documents(tree, file)?;
    objects.retain(|object| object.value.get("kind").is_some());
    Ok(objects)
}

/// The documents of a file and the items of its lists, with their places.
fn documents(tree: &dyn Tree, file: &str) -> Result<Vec<FleetObject>, FileError> {
    let bytes = tree.read(&format!("/{file}"))?;
    let mut files = Files::default();
    let id = files.add(file);
    let nodes = read_resources(&bytes, id).map_err(|problem| FileError::Syntax {
        place: files.show(problem.place).unwrap_or_else(|| file.to_owned()),
        problem,
    })?;
    let mut objects = Vec::new();
    for node in nodes {
        let origin = files.show(node.place).map(String::into_boxed_str);
        let mut value = json_of_node(&node).map_err(|problem| FileError::Value {
            file: file.to_owned(),
            problem,
        })?;
        let values = match value.get_mut("items").and_then(Value::as_array_mut) {
            Some(items) => std::mem::take(items),
            None => vec![value],
        };
        objects.extend(values.into_iter().map(|value| FleetObject {
            value,
            origin: origin.clone(),
        }));
    }
    Ok(objects)
}

/// The entries of a repository: folders that a cluster reconciles, as `flux bootstrap` or Flux's operator sets it up.
///
/// What makes a folder one is the object of a GitRepository beside a Kustomization from it that builds the folder:
/// somebody has to apply both. Kustomizations that a cluster gets from its own folder name the GitRepository only, and
/// may build a folder above their file as well. The root is one if `flux bootstrap` made it so and nothing else is.
#[must_use]
pub fn entries(tree: &dyn Tree) -> Vec<String> {
    let files = yaml_files(tree, "/");
    let mut entries: Vec<String> = files.iter().flat_map(|file| entries_in(tree, file, &files)).collect();
    entries.sort();
    entries.dedup();
    // The root is one where nothing else is: other repositories are often synced by their root.
    if entries.len() > 1 {
        entries.retain(|folder| !folder.is_empty());
    }
    entries
}

/// The highest folders with files of Flux's Kustomizations: those that may be meant where a
/// repository has no [`entries`].
#[must_use]
pub fn kustomization_folders(tree: &dyn Tree) -> Vec<String> {
    let has_one = |file: &String| {
        let documents = documents(tree, file.trim_start_matches('/'));
        documents.is_ok_and(|documents| documents.iter().any(|document| is_kustomization(&document.value)))
    };
    let files = yaml_files(tree, "/").into_iter();
    let files = files.filter(|file| mentions(tree, file, GROUP) && has_one(file));
    let all: BTreeSet<String> = files.map(|file| path::parent(&file).to_owned()).collect();
    let is_below = |folder: &&String| {
        all.iter()
            .any(|other| other != *folder && path::is_within(folder, other))
    };
    let highest = all.iter().filter(|folder| !is_below(folder));
    highest.map(|folder| clean(folder)).collect()
}

/// The folders with a kustomization that no other one of the repository builds on: what is applied with
/// `kubectl apply -k` where there is no Flux.
#[must_use]
pub fn overlays(tree: &dyn Tree) -> Vec<String> {
    let (mut folders, mut used) = (BTreeSet::new(), BTreeSet::new());
    for file in yaml_files(tree, "/") {
        if !NAMES.contains(&path::base(&file)) {
            continue;
        }
        let folder = path::parent(&file).to_owned();
        for document in documents(tree, file.trim_start_matches('/')).into_iter().flatten() {
            let lists = ["resources", "bases", "components"].map(|field| document.value.get(field));
            let names = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
            used.extend(names.filter_map(Value::as_str).map(|name| path::join(&folder, name)));
        }
        folders.insert(folder);
    }
    folders.difference(&used).map(|folder| clean(folder)).collect()
}

/// The YAML files below a folder; links are not followed.
fn yaml_files(tree: &dyn Tree, folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let Ok(names) = tree.list(&folder) else { continue };
        for name in names.into_iter().rev() {
            let below = path::join(&folder, &name);
            match tree.canonical(&below) {
                Ok(at) if at.directory && at.path == below => waiting.push(below),
                Ok(at) if !at.directory && is_yaml(&name) => files.push(below),
                _ => {}
            }
        }
    }
    files
}

fn mentions(tree: &dyn Tree, file: &str, word: &str) -> bool {
    tree.read(file)
        .is_ok_and(|bytes| memchr::memmem::find(&bytes, word.as_bytes()).is_some())
}

fn is_yaml(name: &str) -> bool {
    [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
}

/// Whether a Kustomization is named as `flux bootstrap` does: by its namespace, and its source as well.
fn is_bootstrapped(kustomization: &Kustomization) -> bool {
    let namespace = kustomization.metadata.namespace_or_default();
    kustomization.metadata.name == namespace && kustomization.spec.source_ref.name == namespace
}

/// The entries by a file among all YAML files.
fn entries_in(tree: &dyn Tree, file: &str, files: &[String]) -> Vec<String> {
    let holds = |word: &str| mentions(tree, file, word);
    let has_kustomization = holds(GROUP) && holds("GitRepository");
    let has_instance =
        holds("FluxInstance") || holds(instance::CHART) || (holds("instance:") && holds("sync:") && holds("path:"));
    if !has_kustomization && !has_instance {
        return Vec::new();
    }
    let Ok(documents) = documents(tree, file.trim_start_matches('/')) else {
        return Vec::new();
    };
    let objects: Vec<&Value> = documents.iter().map(|document| &document.value).collect();
    let synced = objects.iter().filter_map(|object| synced(object));
    let is_folder = |path: &String| tree.canonical(&format!("/{path}")).is_ok_and(|found| found.directory);
    let mut entries: Vec<String> = synced.filter(is_folder).collect();
    let kustomizations = objects.iter().filter(|object| is_kustomization(object));
    for kustomization in kustomizations.filter_map(|object| parse(object).ok()) {
        let folder = clean(&kustomization.spec.path);
        let is_above = path::is_within(path::parent(file), &format!("/{folder}"));
        let is_meant = !folder.is_empty() || is_bootstrapped(&kustomization);
        if is_above && is_meant && has_source(tree, &kustomization, (file, &objects), files) {
            entries.push(folder);
        }
    }
    entries
}

/// The folder that an instance of Flux's operator syncs: the object, a Helm release of its chart, or values for that.
fn synced(object: &Value) -> Option<String> {
    let sync = match bumpwright_api::group_kind(object) {
        _ if instance::is_instance(object) => object.pointer("/spec/sync"),
        ("helm.toolkit.fluxcd.io", "HelmRelease") => object.pointer("/spec/values/instance/sync"),
        _ if object.get("kind").is_none() => object.pointer("/instance/sync"),
        _ => None,
    }?;
    let text = |field: &str| sync.get(field)?.as_str().filter(|text| !text.is_empty());
    text("url")?;
    text("path").map(clean)
}

/// Whether the source of a Kustomization is an object in its file, or in another file of the same folder.
fn has_source(
    tree: &dyn Tree,
    kustomization: &Kustomization,
    (file, objects): (&str, &[&Value]),
    files: &[String],
) -> bool {
    let name = kustomization.source();
    let is_source = |object: &Value| {
        let id = bumpwright_api::ObjectId::of(object);
        let is_there = id.name.namespace.is_empty() || id.name.namespace == name.namespace;
        (id.group.as_str(), id.kind.as_str()) == (SOURCE_GROUP, "GitRepository")
            && id.name.name == name.name
            && is_there
    };
    if kustomization.spec.source_ref.kind != "GitRepository" {
        return false;
    }
    if objects.iter().any(|object| is_source(object)) {
        return true;
    }
    let beside = files
        .iter()
        .filter(|other| *other != file && path::parent(other) == path::parent(file));
    let mut beside = beside.filter(|other| mentions(tree, other, SOURCE_GROUP));
    beside.any(|other| {
        let objects = of_file(tree, other.trim_start_matches('/'));
        objects.is_ok_and(|objects| objects.iter().any(|object| is_source(&object.value)))
    })
}
