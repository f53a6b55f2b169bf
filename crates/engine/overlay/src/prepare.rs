//! Prepares a kustomization that can be built from an artifact and a spec.

use super::error::{KustomizationProblem, OverlayError};
use super::field_table::KUSTOMIZATION;
use super::fit::fit;
use super::manifests::{faults, is_file, scan};
use super::mount::{Mount, ROOT};
use super::rewrite::{read, rewrite};
use super::spec::Overlay;
use bumpwright_budget::{Reservation, Share};
use bumpwright_kustomize::Rewritten;
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::{Tree, TreeError, path};
use bumpwright_yaml::{FileId, Files, Mapping, Node, Place, Value, weight, write_sigs};

/// A kustomization that can be built, with its tree.
pub struct Prepared<'t> {
    pub(super) mount: Mount<'t>,
    /// The directory to build, links resolved.
    pub(super) directory: String,
    /// The path of its kustomization, links resolved.
    pub(super) file: String,
    pub(super) text: String,
    pub(super) rewritten: Rewritten,
    /// The manifests of a generated kustomization.
    pub(super) manifests: Vec<String>,
    pub(super) no_remote_bases: bool,
    /// Memory for the kustomization and the replaced files.
    pub(super) reservations: Vec<Reservation>,
}

/// Finds the path of a Kustomization in an artifact, and finds or generates the kustomization there with
/// the spec's fields added.
///
/// # Errors
///
/// The path does not exist; the kustomization cannot be read; a component is not local; a file is not a manifest.
pub fn prepare<'t>(tree: &'t dyn Tree, overlay: &Overlay) -> Result<Prepared<'t>, OverlayError> {
    prepare_within(tree, overlay, None)
}

/// As [`prepare`], with memory reserved in `memory` for all input and output, from here to the objects.
///
/// # Errors
///
/// As [`prepare`], and [`OverlayError::Memory`].
pub fn prepare_within<'t>(
    tree: &'t dyn Tree,
    overlay: &Overlay,
    memory: Option<&Share>,
) -> Result<Prepared<'t>, OverlayError> {
    prepared(tree, overlay, memory).map_err(|error| error.for_tree(tree))
}

fn prepared<'t>(tree: &'t dyn Tree, overlay: &Overlay, memory: Option<&Share>) -> Result<Prepared<'t>, OverlayError> {
    let mut mount = Mount::new(tree, memory);
    let mut reservations = Vec::new();
    let directory = find_path(&mount, &overlay.path)?;
    let existing = NAMES.iter().map(|name| path::join(&directory, name));
    let existing = existing.into_iter().find(|path| is_file(&mount, path));
    let mut manifests = Vec::new();
    let (mut kustomization, bytes) = match &existing {
        Some(file) => read_kustomization(&mount, file, &mut reservations)?,
        None => {
            let scanned = scan(&mount, &directory).map_err(|error| unwritable(&error))?;
            manifests = scanned.paths;
            if let Some(error) = scanned
                .has_disguised
                .then(|| of_manifests(&mount, &manifests))
                .flatten()
            {
                return Err(error);
            }
            (generate(&directory, &manifests), Vec::new())
        }
    };
    let file = existing.unwrap_or_else(|| path::join(&directory, "kustomization.yaml"));
    let prepared = components(&mount, &directory, overlay).and_then(|components| {
        rewrite(&mut kustomization, overlay, components);
        check_place(&mount, &directory, &file)
    });
    if let Err(error) = prepared {
        return Err(of_manifests(&mount, &manifests).unwrap_or(error));
    }
    let node = Node::new(Value::Mapping(kustomization));
    reservations.extend(mount.reserve(weight::of_node(&node) + 2 * weight::printed(&node))?);
    let mut text = String::new();
    write_sigs(&node, &mut text).map_err(|error| OverlayError::Kustomization {
        problem: Box::new(KustomizationProblem::Unprintable(error)),
        place: relative(&file),
    })?;
    let file = mount.canonical(&file).map_or(file, |found| found.path);
    mount.cover(&file, text.clone().into_bytes());
    Ok(Prepared {
        mount,
        directory,
        file,
        text,
        rewritten: Rewritten { node, text: bytes },
        manifests,
        no_remote_bases: overlay.no_remote_bases,
        reservations,
    })
}

impl Prepared<'_> {
    /// The kustomization, as Flux writes it into its copy of the artifact.
    #[must_use]
    pub fn kustomization(&self) -> &str {
        &self.text
    }
}

/// The error of invalid manifests: Flux reads them first, so it takes precedence over other errors.
pub(super) fn of_manifests(mount: &Mount<'_>, manifests: &[String]) -> Option<OverlayError> {
    let faults = faults(mount, manifests);
    (!faults.is_empty()).then_some(OverlayError::Manifests(faults))
}

/// A path as in messages that are not Flux's own: from the root of the artifact.
pub(super) fn relative(shown: &str) -> String {
    let inside = Mount::inside(shown).unwrap_or(shown);
    inside.trim_start_matches('/').to_owned()
}

/// The directory of `spec.path`: links and `..` are confined to the root (filepath-securejoin).
fn find_path(mount: &Mount<'_>, wanted: &str) -> Result<String, OverlayError> {
    let directory = secure_join(mount, wanted)?;
    let problem = match mount.canonical(&directory) {
        Ok(_) => return Ok(directory),
        Err(TreeError::Missing(_)) => format!("stat {directory}: no such file or directory"),
        Err(TreeError::File(_)) => format!("stat {directory}: not a directory"),
        Err(error) => format!("stat {error}"),
    };
    Err(OverlayError::Path(format!("kustomization path not found: {problem}")))
}

/// A path joined to the root without ever leaving it; missing parts are taken as spelled.
pub(super) fn secure_join(mount: &Mount<'_>, wanted: &str) -> Result<String, OverlayError> {
    let mut done = ROOT.to_owned();
    for part in wanted.split('/') {
        match part {
            "" | "." => {}
            ".." if done == ROOT => {}
            ".." => done = path::parent(&done).to_owned(),
            part => {
                let next = path::join(&done, part);
                done = match mount.canonical(&next) {
                    Ok(found) => found.path,
                    Err(TreeError::Circle(_)) => {
                        let problem = format!("SecureJoin {ROOT}/{wanted}: too many levels of symbolic links");
                        return Err(OverlayError::Path(problem));
                    }
                    Err(_) => next,
                };
            }
        }
    }
    Ok(done)
}

/// The kustomization in a file, restricted to the fields that Flux knows, and its bytes.
fn read_kustomization(
    mount: &Mount<'_>,
    file: &str,
    reservations: &mut Vec<Reservation>,
) -> Result<(Mapping, Vec<u8>), OverlayError> {
    let bytes = mount.read(file).map_err(|error| unwritable(&error))?;
    reservations.extend(mount.reserve(weight::of_text(&bytes))?);
    let bytes = bytes.into_owned();
    let mut kustomization =
        read_fields(&bytes, file).map_err(|(problem, place)| OverlayError::Kustomization { problem, place })?;
    if kustomization.get("resources").is_none() {
        // Flux does so lest a kustomization be called empty; it shows in the output of generators.
        let origins = Node::sequence(vec![Node::string("originAnnotations")]);
        kustomization.set("buildMetadata", origins);
    }
    Ok((kustomization, bytes))
}

/// The fields of a kustomization's text, or Go's message and the place.
pub(super) fn read_fields(bytes: &[u8], file: &str) -> Result<Mapping, (Box<KustomizationProblem>, String)> {
    let mut files = Files::default();
    // The first file of a build is the kustomization that it begins with, so these places are good there, too.
    let id = files.add(&relative(file));
    let show = |place: Place| match place.file {
        FileId::NONE => relative(file),
        _ => files.show(place).unwrap_or_default(),
    };
    let node = read(bytes, id).map_err(|error| {
        let place = show(error.place);
        (Box::new(KustomizationProblem::Syntax(error)), place)
    })?;
    let mut fields = fit(&node, &KUSTOMIZATION).map_err(|misfit| {
        let place = show(misfit.place);
        (Box::new(KustomizationProblem::Field(misfit.problem)), place)
    })?;
    for (field, value) in [("apiVersion", VERSION), ("kind", KIND)] {
        if !node.as_mapping().is_some_and(|mapping| has_field(mapping, field)) {
            fields.set(field, Node::string(value));
        }
    }
    Ok(fields)
}

const VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const KIND: &str = "Kustomization";

/// Whether a field is present and not null.
fn has_field(mapping: &Mapping, field: &str) -> bool {
    let mut entries = mapping.entries.iter();
    entries.any(|entry| entry.key.text.eq_ignore_ascii_case(field) && !entry.value.is_null())
}

/// The kustomization for a directory that has none.
fn generate(directory: &str, manifests: &[String]) -> Mapping {
    let mut kustomization = Mapping::default();
    kustomization.set("apiVersion", Node::string(VERSION));
    kustomization.set("kind", Node::string(KIND));
    if manifests.is_empty() {
        // An empty kustomization is an error.
        kustomization.set("namespace", Node::string("_placeholder"));
    } else {
        let below = |path: &String| path.strip_prefix(directory).map(|below| format!(".{below}"));
        let names = manifests.iter().filter_map(below).map(Node::string);
        kustomization.set("resources", Node::sequence(names.collect()));
    }
    kustomization
}

/// The spec's components to build.
fn components(mount: &Mount<'_>, directory: &str, overlay: &Overlay) -> Result<Vec<String>, OverlayError> {
    let mut components = Vec::new();
    for component in &overlay.components {
        if !is_local(component) {
            return Err(OverlayError::Component(component.clone()));
        }
        let is_there = || mount.canonical(&path::join(directory, component)).is_ok();
        if !overlay.ignore_missing_components || is_there() {
            components.push(component.clone());
        }
    }
    Ok(components)
}

/// Prefixes of what is not a path in the artifact.
const REMOTE: [&str; 8] = [
    "git::",
    "gh:",
    "ssh://",
    "https://",
    "http://",
    "git@",
    "github.com:",
    "github.com/",
];

/// Whether a component is a path relative to the kustomization (K-080).
fn is_local(component: &str) -> bool {
    let lower = component.to_ascii_lowercase();
    let is_remote = REMOTE
        .iter()
        .any(|start| lower.len() > start.len() && lower.starts_with(start));
    !is_remote && !lower.strip_prefix("file://").unwrap_or(&lower).starts_with('/')
}

/// Checks that a kustomization can be written to its place; errors are in Flux's words.
fn check_place(mount: &Mount<'_>, directory: &str, file: &str) -> Result<(), OverlayError> {
    let is_directory = mount.canonical(directory).is_ok_and(|found| found.directory);
    if !is_directory {
        let problem = format!("open {file}: not a directory remove {file}: not a directory");
        return Err(OverlayError::Unwritable(problem));
    }
    match mount.canonical(file) {
        Ok(found) if found.directory => {
            let is_empty = mount.list(file).is_ok_and(|names| names.is_empty());
            let removed = if is_empty {
                "<nil>".to_owned()
            } else {
                format!("remove {file}: directory not empty")
            };
            Err(OverlayError::Unwritable(format!(
                "open {file}: is a directory {removed}"
            )))
        }
        _ => Ok(()),
    }
}

fn unwritable(error: &TreeError) -> OverlayError {
    OverlayError::Unwritable(error.to_string())
}
