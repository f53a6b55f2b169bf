//! A directory without a kustomization: which files below it are its resources
//! (*Generating a kustomization.yaml file*).

use super::error::ManifestFault;
use super::mount::Mount;
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::resource::{ReadError, read_resources};
use bumpwright_kustomize::schema::SchemaChoice;
use bumpwright_kustomize::tree::{Tree, TreeError, path};
use bumpwright_yaml::{FileId, Mapping, Node, Tag, Value, weight};
use std::collections::BTreeMap;

/// Maximum number of invalid files in an error; of more only the number is given.
const TOLD: usize = 10;

/// The file of that name, links followed.
pub(super) fn is_file(tree: &Mount<'_>, path: &str) -> bool {
    tree.canonical(path).is_ok_and(|found| !found.directory)
}

/// The manifests below a directory.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    /// Files that end in `.yaml` or `.yml`, and directories with a kustomization of their own, in the
    /// order of their paths.
    pub paths: Vec<String>,
    /// Whether a link with the name of a file leads to a directory: a build could use it, Flux fails.
    pub has_disguised: bool,
}

/// All manifests below `base`. Directories with a kustomization of their own are not searched, and links to directories
/// are not followed.
pub(super) fn scan(tree: &Mount<'_>, base: &str) -> Result<Manifests, TreeError> {
    let mut manifests = Manifests::default();
    if !tree.canonical(base)?.directory {
        return Ok(manifests);
    }
    let mut waiting = vec![base.to_owned()];
    while let Some(next) = waiting.pop() {
        let folder = tree.canonical(&next).ok().filter(|found| found.directory);
        let is_link = folder.as_ref().is_some_and(|folder| folder.path != next);
        if folder.is_some() && !is_link {
            if next != base && NAMES.iter().any(|name| is_file(tree, &path::join(&next, name))) {
                manifests.paths.push(next);
                continue;
            }
            let names = tree.list(&next)?;
            waiting.extend(names.iter().rev().map(|name| format!("{next}/{name}")));
        } else if next.ends_with(".yaml") || next.ends_with(".yml") {
            manifests.has_disguised |= is_link;
            manifests.paths.push(next);
        }
    }
    Ok(manifests)
}

/// The errors of the manifests, in kustomize-controller's words: it reads all of them before it builds,
/// and stops at the first. A build reads them again, so this is called only once that has failed.
pub(super) fn faults(tree: &Mount<'_>, manifests: &[String]) -> Vec<ManifestFault> {
    let files = manifests
        .iter()
        .filter(|path| path.ends_with(".yaml") || path.ends_with(".yml"));
    let files = files.filter(|path| {
        let canonical = tree.canonical(path);
        !canonical.is_ok_and(|canonical| canonical.directory && canonical.path == **path)
    });
    let mut faults: Vec<ManifestFault> = files.filter_map(|path| fault(tree, path)).collect();
    if let Some(more) = faults.len().checked_sub(TOLD).filter(|more| *more > 0) {
        faults.truncate(TOLD);
        faults.push(ManifestFault::More(more));
    }
    faults
}

fn fault(tree: &Mount<'_>, path: &str) -> Option<ManifestFault> {
    let unreadable = |text| Some(ManifestFault::Unreadable(text));
    let bytes = match tree.read(path) {
        Ok(bytes) => bytes,
        Err(TreeError::Directory(_)) => return unreadable(format!("read {path}: is a directory")),
        Err(TreeError::Missing(_)) => return unreadable(format!("open {path}: no such file or directory")),
        Err(error) => return unreadable(format!("open {error}")),
    };
    // Without memory for the check, the original error is reported.
    let _reservation = tree.reserve(2 * weight::of_text(&bytes)).ok()?;
    let error = read_resources(&bytes, FileId::NONE, &SchemaChoice::default()).err()?;
    Some(ManifestFault::Undecodable {
        path: path.to_owned(),
        reason: reason(&error, &bytes)?,
    })
}

/// kyaml's error for a file; `None` where it only appears in the build, since values are not checked before.
fn reason(error: &ReadError, bytes: &[u8]) -> Option<String> {
    Some(match error {
        ReadError::Malformed(error) if error.go().contains(TWICE) => return None,
        ReadError::Malformed(error) if error.go().contains(KEY) => return reason_of_template(bytes),
        ReadError::Malformed(error) => format!("MalformedYAMLError: {}", error.go()),
        ReadError::NoObject(_) => "missing Resource metadata".to_owned(),
        ReadError::NoKind(place) => format!("missing kind in object {}", metadata(bytes, *place)),
        ReadError::NoName { place, .. } => format!("missing metadata.name in object {}", metadata(bytes, *place)),
        ReadError::NoItems { place, kind } => {
            let documents = bumpwright_yaml::read_resources(bytes, FileId::NONE);
            let documents = documents.iter().flatten();
            let mut items = documents.filter_map(|document| document.get("items"));
            let found = items.find(|items| items.place == *place).map(go_type);
            let found = found.unwrap_or("something else");
            format!("expected array in {kind}/items, but found {found}")
        }
        other => other.to_string(),
    })
}

/// Whether go-yaml reports it only when it decodes nodes to values.
const TWICE: &str = "already defined at line";
const KEY: &str = "invalid map key";

/// The cause for a text with mappings as keys: nearly always a Helm template, whose `{{ .x }}` is such a mapping.
/// kyaml accepts that, but not as the text that the template would have produced.
fn reason_of_template(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some((before, (_, after))) = rest.split_once("{{").and_then(|(a, b)| Some((a, b.split_once("}}")?))) {
        plain.push_str(before);
        plain.push_str("{x: }");
        rest = after;
    }
    plain.push_str(rest);
    let error = read_resources(plain.as_bytes(), FileId::NONE, &SchemaChoice::default()).err()?;
    match &error {
        ReadError::Malformed(error) if error.go().contains(KEY) => None,
        error => reason(error, plain.as_bytes()),
    }
}

/// The Go type of a value.
fn go_type(node: &Node) -> &'static str {
    match &node.value {
        Value::Mapping(_) => "map[string]interface {}",
        Value::Sequence(_) => "[]interface {}",
        Value::Scalar(scalar) => match scalar.tag {
            Tag::Bool => "bool",
            Tag::Int => "int",
            Tag::Float => "float64",
            _ => "string",
        },
    }
}

/// The metadata of the object at a place, as Go prints kyaml's `ResourceMeta`.
fn metadata(bytes: &[u8], place: bumpwright_yaml::Place) -> String {
    let documents = bumpwright_yaml::read_resources(bytes, place.file);
    let documents: Vec<Node> = documents.into_iter().flatten().collect();
    let items = documents.iter().flat_map(|document| document.items_at(&["items"]));
    let found = documents.iter().chain(items).find(|node| node.place == place);
    let text = |path: &[&str]| {
        let text = found.map_or("", |node| node.text_at(path));
        text.to_owned()
    };
    let pairs = |field: &str| {
        let mapping = found.and_then(|node| node.lookup(&["metadata", field])?.as_mapping());
        go_map(mapping)
    };
    format!(
        "{{{{{} {}}} {{{{{} {}}} {} {}}}}}",
        text(&["apiVersion"]),
        text(&["kind"]),
        text(&["metadata", "name"]),
        text(&["metadata", "namespace"]),
        pairs("labels"),
        pairs("annotations"),
    )
}

/// A mapping of strings as Go prints a `map[string]string`.
fn go_map(mapping: Option<&Mapping>) -> String {
    let entries = mapping.into_iter().flat_map(|mapping| &mapping.entries);
    let pairs = entries.map(|entry| (entry.key.text.as_str(), entry.value.text()));
    let pairs: BTreeMap<_, _> = pairs.collect();
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!("map[{}]", pairs.join(" "))
}
