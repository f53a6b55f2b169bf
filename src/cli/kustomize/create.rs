//! `bumpwright kustomize create`: a kustomization of the existing manifests (K-161).

use std::fs;
use std::path::Path;

use super::args::Create;
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_edit::{YAML_LIMIT, scalar};
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::resource::read_resources;
use bumpwright_kustomize::schema::SchemaChoice;
use bumpwright_yaml::FileId;

pub(super) fn create(args: &Create) -> Result<(), CliError> {
    if let Some(name) = NAMES.into_iter().find(|name| fs::symlink_metadata(name).is_ok()) {
        return Err(CliError::new(format!("kustomization file already exists: {name}")));
    }
    let mut resources = Vec::new();
    for given in &args.resources {
        if !given.contains("://") && fs::metadata(given).is_err() {
            return Err(CliError::new(format!("--resources: there is no {given}")));
        }
        resources.push(given.clone());
    }
    if args.autodetect {
        detect(Path::new(""), args.recursive, &mut resources)?;
    }
    let mut text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n".to_owned();
    if !resources.is_empty() {
        text.push_str("resources:\n");
    }
    let mut distinct = std::collections::BTreeSet::new();
    for resource in resources.iter().filter(|resource| distinct.insert(resource.as_str())) {
        text.push_str(&format!("- {}\n", scalar("", resource)));
    }
    let name = NAMES[0];
    fs::write(name, text).at(name)
}

/// Adds the manifests of a folder, by their names.
fn detect(folder: &Path, recursive: bool, resources: &mut Vec<String>) -> Result<(), CliError> {
    let place = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let shown = place.display();
    let mut names = Vec::new();
    for entry in fs::read_dir(place).at(&shown)? {
        names.push(entry.at(&shown)?.file_name());
    }
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let meta = fs::symlink_metadata(&path).at(&shown)?;
        if meta.is_dir() && recursive && name != ".git" {
            if NAMES.iter().any(|name| path.join(name).is_file()) {
                resources.push(path.display().to_string())
            } else {
                detect(&path, recursive, resources)?
            }
        } else if meta.is_file() && is_manifest(&path, meta.len()) {
            resources.push(path.display().to_string());
        }
    }
    Ok(())
}

/// Whether a file holds objects; an empty one does not, whatever its name.
fn is_manifest(path: &Path, size: u64) -> bool {
    let is_text = path
        .extension()
        .is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known));
    if !is_text || size > YAML_LIMIT as u64 {
        return false;
    }
    let Ok(bytes) = fs::read(path) else { return false };
    read_resources(&bytes, FileId::NONE, &SchemaChoice::default()).is_ok_and(|objects| !objects.is_empty())
}
