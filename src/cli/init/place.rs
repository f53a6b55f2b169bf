//! The file for the new objects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::Init;
use bumpwright_adopt::SourceFile;
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_propose::Proposal;

/// Its name, where none is given.
const FILE: &str = "image-automation.yaml";
/// The folder that `flux bootstrap` makes.
const FLUX: &str = "flux-system";

/// Where the objects go.
pub(super) fn of(args: &Init, sources: &[SourceFile]) -> PathBuf {
    if let Some(path) = &args.export_to {
        let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        return if is_folder { path.join(FILE) } else { path.clone() };
    }
    let is_flux = |folder: &&Path| folder.file_name().is_some_and(|name| name == FLUX);
    let folders: BTreeSet<&Path> = sources
        .iter()
        .filter_map(|source| Path::new(&source.name).parent().filter(is_flux)?.parent())
        .collect();
    let given = match args.path.is_dir() {
        true => args.path.as_path(),
        false => args.path.parent().unwrap_or(Path::new("")),
    };
    let folder = folders.first().copied().filter(|_| folders.len() == 1).unwrap_or(given);
    match folder == Path::new(".") {
        true => PathBuf::from(FILE),
        false => folder.join(FILE),
    }
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
