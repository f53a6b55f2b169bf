//! The entry of a fleet: a folder or a file of the repository.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::instance;
use super::settings::GivenSource;
use super::source::SourceObject;
use super::view::FleetObject;
use bumpwright_api::Kustomization;
use bumpwright_kustomize::tree::{Tree, path};
use bumpwright_yaml::{Files, read_resources, write_json};

const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// A path of the repository, cleaned, without a leading slash; empty for the root.
#[must_use]
pub fn clean(text: &str) -> String {
    path::clean(&format!("/{text}")).trim_start_matches('/').to_owned()
}

/// Whether an object is a Kustomization of Flux.
pub(super) fn is_kustomization(object: &Value) -> bool {
    bumpwright_api::group_kind(object) == (GROUP, "Kustomization")
}

/// The Kustomization of an object.
///
/// # Errors
/// The object is not valid.
pub(super) fn parse(object: &Value) -> Result<Kustomization, String> {
    let parsed: Kustomization = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    match parsed.metadata.name.as_str() {
        "" => Err("metadata.name is required".to_owned()),
        _ => Ok(parsed),
    }
}

/// A Kustomization that builds a folder and adds nothing: for an entry whose own Kustomization is not known yet.
pub(super) fn plain(folder: &str) -> Kustomization {
    let object = json!({"metadata": {"name": ""}, "spec": {"path": folder}});
    serde_json::from_value(object).unwrap_or_else(|_| Kustomization {
        metadata: bumpwright_api::Metadata::default(),
        spec: bumpwright_api::KustomizationSpec::default(),
    })
}

/// The Kustomization that reconciles the folder itself, among the objects that are built from it: the one that `flux bootstrap` writes
/// into `gotk-sync.yaml`. Paths of a source whose files are a folder of the repository begin there.
pub(super) fn own<'o>(
    objects: &'o [FleetObject],
    folder: &str,
    given: &BTreeMap<String, GivenSource>,
) -> Option<(Kustomization, &'o FleetObject)> {
    let mut found = objects
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
    found.next()
}

/// As [`own`], from the files below the folder: what `flux bootstrap` has applied need not be in the kustomization of the folder.
/// With its source, if that is in the same file.
pub(super) fn own_in_files(
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
pub(super) fn of_file(tree: &dyn Tree, file: &str) -> Result<Vec<FleetObject>, String> {
    let bytes = tree.read(&format!("/{file}")).map_err(|error| error.to_string())?;
    let mut files = Files::default();
    let id = files.add(file);
    let nodes = read_resources(&bytes, id).map_err(|error| match files.show(error.place) {
        Some(place) => format!("{place}: {error}"),
        None => format!("{file}: {error}"),
    })?;
    let mut objects = Vec::new();
    for node in nodes {
        let origin = files.show(node.place).map(String::into_boxed_str);
        let mut json = String::new();
        write_json(&node, &mut json).map_err(|error| format!("{file}: {}", error.go()))?;
        let mut value: Value = serde_json::from_str(&json).map_err(|error| format!("{file}: {error}"))?;
        let values = match value.get_mut("items").and_then(Value::as_array_mut) {
            Some(items) => std::mem::take(items),
            None => vec![value],
        };
        let named = values.into_iter().filter(|value| value.get("kind").is_some());
        objects.extend(named.map(|value| FleetObject {
            value,
            origin: origin.clone(),
        }));
    }
    Ok(objects)
}

/// The entries of a repository: folders whose Kustomization reconciles the folder itself, as `flux bootstrap` makes them.
#[must_use]
pub fn entries(tree: &dyn Tree) -> Vec<String> {
    let files = yaml_files(tree, "/");
    let mut found: Vec<String> = files.iter().flat_map(|file| entries_in(tree, file)).collect();
    found.sort();
    found.dedup();
    found
}

/// The YAML files below a folder; links are not followed.
fn yaml_files(tree: &dyn Tree, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let Ok(names) = tree.list(&folder) else { continue };
        for name in names.into_iter().rev() {
            let below = path::join(&folder, &name);
            match tree.canonical(&below) {
                Ok(at) if at.directory && at.path == below => waiting.push(below),
                Ok(at) if !at.directory && is_yaml(&name) => found.push(below),
                _ => {}
            }
        }
    }
    found
}

fn mentions(tree: &dyn Tree, file: &str, word: &str) -> bool {
    let bytes = tree.read(file).unwrap_or_default();
    memchr::memmem::find(&bytes, word.as_bytes()).is_some()
}

fn is_yaml(name: &str) -> bool {
    [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
}

/// The folders of the Kustomizations in a file that build a folder above the file, from a GitRepository in the same file: what syncs a
/// cluster with its folder. An operator makes both of a FluxInstance.
fn entries_in(tree: &dyn Tree, file: &str) -> Vec<String> {
    let holds = |word: &str| mentions(tree, file, word);
    let has_kustomization = holds(GROUP) && holds("GitRepository");
    if !has_kustomization && !holds("FluxInstance") {
        return Vec::new();
    }
    let Ok(objects) = of_file(tree, file.trim_start_matches('/')) else {
        return Vec::new();
    };
    let folders = objects.iter().filter_map(|object| {
        if is_kustomization(&object.value) && has_kustomization {
            return Some(clean(&parse(&object.value).ok()?.spec.path));
        }
        let path = object.value.pointer("/spec/sync/path").and_then(Value::as_str)?;
        instance::is_instance(&object.value).then(|| clean(path))
    });
    let folders =
        folders.filter(|folder| path::is_within(path::parent(file), &format!("/{folder}")) && !folder.is_empty());
    folders.collect()
}
