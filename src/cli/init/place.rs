//! The file for the new objects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::Init;
use crate::cli::fleet::applied::Applied;
use crate::cli::words;
use bumpwright_adopt::{Files, SourceFile, object};
use bumpwright_edit::OWN_FOLDER;
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_propose::Proposal;

/// Its name, where none is given.
const FILE: &str = "image-automation.yaml";
/// The folder that `flux bootstrap` makes.
const FLUX: &str = "flux-system";

/// Where the objects go.
pub(super) struct Placed {
    pub(super) file: PathBuf,
    /// Whether the objects may go behind those that the file has: nobody named this very file.
    pub(super) may_append: bool,
    /// Why the folder is not known: the file is not applied where it is.
    open: Option<Open>,
}

/// Why the file is in no folder that is applied.
enum Open {
    /// Of several clusters it is not known which one is meant.
    Several(Vec<PathBuf>),
    /// No cluster is found; these folders have Kustomizations.
    Unknown(Vec<PathBuf>),
}

/// Where the objects go: beside the policies that exist, else beside the folder of `flux bootstrap`, else into the
/// folder of the only cluster, else where the only Kustomization in the files looks.
pub(super) fn of(args: &Init, files: &Files<'_>, sources: &[SourceFile], has_flux: bool) -> Placed {
    if let Some(path) = &args.export_to {
        let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let file = if is_folder { path.join(FILE) } else { path.clone() };
        return Placed {
            file,
            may_append: is_folder,
            open: None,
        };
    }
    let is_flux = |folder: &&Path| folder.file_name().is_some_and(|name| name == FLUX);
    let folders: BTreeSet<&Path> = sources
        .iter()
        .filter_map(|source| Path::new(&source.name).parent().filter(is_flux)?.parent())
        .collect();
    let given = if args.path.is_dir() {
        args.path.as_path()
    } else {
        args.path.parent().unwrap_or(Path::new(""))
    };
    if !has_flux {
        // Where `kubectl apply -f .` does not look: the cluster may not know these kinds.
        let own = given.strip_prefix(".").unwrap_or(given).join(OWN_FOLDER);
        return Placed {
            file: own.join(FILE),
            may_append: true,
            open: None,
        };
    }
    let (folder, open) = match (with_policies(args, files), folders.first()) {
        (Some(folder), _) => (folder, None),
        (None, Some(only)) if folders.len() == 1 => (only.to_path_buf(), None),
        (None, _) => applied(given, files),
    };
    Placed {
        file: folder.strip_prefix(".").unwrap_or(&folder).join(FILE),
        may_append: true,
        open,
    }
}

/// The only folder with policies of the namespace that the new objects are for, besides the one for commands alone.
fn with_policies(args: &Init, files: &Files<'_>) -> Option<PathBuf> {
    let objects = files.objects().into_iter();
    let policies = objects.filter(|(_, node)| node.field_text("kind") == Some("ImagePolicy"));
    let own = policies.filter(|(_, node)| {
        object(node).is_some_and(|name| name.namespace.is_empty() || name.namespace == args.namespace)
    });
    let folders: BTreeSet<&Path> = own
        .filter_map(|(file, _)| Path::new(&files.parsed.get(file)?.source.name).parent())
        .filter(|folder| !folder.ends_with(OWN_FOLDER))
        .collect();
    let only = folders.first().filter(|_| folders.len() == 1)?;
    Some(only.to_path_buf())
}

/// The folder for the objects that something applies; `given` where that is not known.
fn applied(given: &Path, files: &Files<'_>) -> (PathBuf, Option<Open>) {
    let clusters = Applied::in_repository_of(given);
    if clusters.has(given) {
        return (given.to_owned(), None);
    }
    match clusters.clusters.as_slice() {
        [only] => return (only.clone(), None),
        [] => {}
        several => return (given.to_owned(), Some(Open::Several(several.to_vec()))),
    }
    let folders = synced(files).into_iter();
    let folders: Vec<PathBuf> = folders.map(|path| clusters.root.join(path)).collect();
    match folders.as_slice() {
        [only] => (only.clone(), None),
        _ => (given.to_owned(), Some(Open::Unknown(folders))),
    }
}

/// The folders among the files that Kustomizations apply as they are, in namespaces of their own.
fn synced(files: &Files<'_>) -> BTreeSet<String> {
    let documents = files.parsed.iter().flat_map(|file| &file.documents);
    let kustomizations = documents.filter(|document| {
        document.field_text("kind") == Some("Kustomization")
            && document
                .field_text("apiVersion")
                .is_some_and(|version| version.starts_with(KUSTOMIZE))
    });
    let folders = kustomizations.filter_map(|kustomization| {
        let spec = kustomization.field("spec")?;
        let source = spec.field("sourceRef")?.field_text("kind")?;
        let is_as_it_is = source == "GitRepository" && spec.field("targetNamespace").is_none();
        let path = bumpwright_fleet::clean(spec.text_of("path"));
        let is_there = files
            .parsed
            .iter()
            .any(|file| Path::new(&file.source.path).starts_with(&path));
        (is_as_it_is && is_there).then_some(path)
    });
    folders.collect()
}

/// The group of Flux's Kustomizations.
const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io/";

impl Placed {
    /// That nothing is known to apply the objects, and how to go on.
    fn unapplied(&self) -> Option<String> {
        let shown = |folders: &[PathBuf]| {
            let names = folders.iter().map(|folder| match folder.to_string_lossy() {
                name if name.is_empty() => ".".to_owned(),
                name => name.into_owned(),
            });
            words::some(&names.collect::<Vec<_>>())
        };
        let file = self.file.display();
        match self.open.as_ref()? {
            Open::Several(folders) => Some(format!(
                "there are several clusters, {}: give the folder of the one that is to have the objects with --export-to, since nothing applies {file}",
                shown(folders)
            )),
            Open::Unknown(folders) if folders.is_empty() => Some(format!(
                "no Kustomization in these files is known to apply {file}: give a folder that one applies with --export-to, or apply the \
                 file by `kubectl apply -f {file}`"
            )),
            Open::Unknown(folders) => Some(format!(
                "no Kustomization in these files is known to apply {file}: give one of the folders {} with --export-to, or apply the file \
                 by `kubectl apply -f {file}`",
                shown(folders)
            )),
        }
    }
}

/// How to go on without Flux, or without an automation.
pub(super) fn next_steps(args: &Init, proposal: &Proposal) -> Option<String> {
    let path = if args.path == Path::new(".") {
        String::new()
    } else {
        format!(" {}", args.path.display())
    };
    if proposal.manifests.is_empty() {
        return None;
    }
    if proposal.has_flux {
        return (!args.automation).then(|| {
            format!(
                "no ImageUpdateAutomation is proposed (--automation=false): `bumpwright update --dry-run{path}` shows what would change, and \
                 `bumpwright update --push-branch BRANCH URL` pushes it, from CI (docs/start/ci.md)"
            )
        });
    }
    Some(format!(
        "there is no Flux in these files, so no ImageUpdateAutomation is needed: `bumpwright update --dry-run{path}` shows what would change, \
             and `bumpwright update --commit{path}` commits it, here or in CI (docs/start/ci.md), once these files are committed (`git add -A`, `git commit`); \
             for a cluster see docs/start/cluster.md"
    ))
}

/// What has to be done besides for the objects to be applied.
pub(super) fn note(placed: &Placed, sources: &[SourceFile], proposal: &Proposal) -> Option<String> {
    if proposal.manifests.is_empty() {
        return None;
    }
    if let Some(unapplied) = placed.unapplied() {
        return Some(unapplied);
    }
    let place = placed.file.as_path();
    let folder = place.parent()?;
    let beside = sources.iter().find(|source| {
        let path = Path::new(&source.name);
        let is_kustomization = path
            .file_name()
            .is_some_and(|name| NAMES.iter().any(|known| name == *known));
        let is_here = |own: &Path| own.strip_prefix(".").unwrap_or(own) == folder;
        is_kustomization && path.parent().is_some_and(is_here)
    })?;
    let name = place.file_name()?.to_string_lossy();
    if placed.file.is_file() && String::from_utf8_lossy(&beside.bytes).contains(&*name) {
        return None;
    }
    Some(format!(
        "add {name} to `resources` of {}: else nothing applies it",
        beside.name
    ))
}
