//! The file for the new objects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::Init;
use bumpwright_adopt::SourceFile;
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_propose::{OWN_FOLDER, Proposal};

/// Its name, where none is given.
const FILE: &str = "image-automation.yaml";
/// The folder that `flux bootstrap` makes.
const FLUX: &str = "flux-system";

/// Where the objects go.
pub(super) fn of(args: &Init, sources: &[SourceFile], has_flux: bool) -> PathBuf {
    if let Some(path) = &args.export_to {
        let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        return if is_folder { path.join(FILE) } else { path.clone() };
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
    let folder = folders.first().copied().filter(|_| folders.len() == 1).unwrap_or(given);
    if !has_flux {
        // Where `kubectl apply -f .` does not look: the cluster may not know these kinds.
        let own = given.strip_prefix(".").unwrap_or(given).join(OWN_FOLDER);
        return own.join(FILE);
    }
    if folder == Path::new(".") {
        PathBuf::from(FILE)
    } else {
        folder.join(FILE)
    }
}

/// How to go on without Flux.
pub(super) fn next_steps(args: &Init, proposal: &Proposal) -> Option<String> {
    let path = if args.path == Path::new(".") {
        String::new()
    } else {
        format!(" {}", args.path.display())
    };
    let is_needed = !proposal.has_flux && !proposal.manifests.is_empty();
    is_needed.then(|| {
        format!(
            "there is no Flux in these files, so no ImageUpdateAutomation is needed: `bumpwright update --dry-run{path}` shows what would change, \
             and, when the markers are committed, `bumpwright update --commit{path}` commits it, here or in CI (docs/start/ci.md); for a cluster see docs/start/cluster.md"
        )
    })
}

/// What has to be done besides for the objects to be applied.
pub(super) fn note(place: &Path, sources: &[SourceFile], proposal: &Proposal) -> Option<String> {
    let folder = place.parent()?;
    let beside = sources.iter().find(|source| {
        let path = Path::new(&source.name);
        let is_kustomization = path
            .file_name()
            .is_some_and(|name| NAMES.iter().any(|known| name == *known));
        is_kustomization && path.parent().is_some_and(|own| own == folder)
    })?;
    let name = place.file_name()?.to_string_lossy();
    (!proposal.manifests.is_empty())
        .then(|| format!("add {name} to `resources` of {}: else nothing applies it", beside.name))
}
