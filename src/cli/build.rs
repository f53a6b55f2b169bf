//! `bumpwright build`: what `kustomize build` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::console::{end, print, say};
use super::{build_args, building, kustomization_build, words};
use crate::kustomize::resource::Resource;
use crate::kustomize::{Build, BuildError};

/// The longest name of a file, in bytes, on all common file systems.
const LONGEST: usize = 255;

/// What was built cannot be handed out.
#[derive(Debug, thiserror::Error)]
enum OutputError {
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    #[error("{object} cannot be written to a file {file:?}: {why}; -o FILE writes all objects to one file")]
    Name { object: String, file: String, why: String },
    #[error("cannot print what was built: {0}")]
    Print(io::Error),
    #[error(transparent)]
    Value(#[from] BuildError),
}

/// Runs the command.
#[must_use]
pub fn run(args: &build_args::Build) -> ExitCode {
    if args.flux.kustomization.is_some() {
        return kustomization_build::run(args);
    }
    if let Err(error) = args.flux.check() {
        return end(Err(error));
    }
    let built = match building::build(&args.target, &args.building, &building::world(&args.flux.bounds)) {
        Ok(built) => built,
        Err(error) => return end(Err(error)),
    };
    for warning in &built.warnings {
        say("warning", warning);
    }
    end(output(&built, args.output.as_deref()))
}

fn output(built: &Build, path: Option<&Path>) -> Result<(), OutputError> {
    if let Some(folder) = path.filter(|path| path.is_dir()) {
        return files(built, folder);
    }
    let text = built.to_yaml()?;
    match path {
        Some(file) => fs::write(file, text).map_err(|error| OutputError::File(file.to_owned(), error)),
        None => print(text.as_bytes()).map_err(OutputError::Print),
    }
}

/// A file for each object, named as kustomize names it. None is written when one of them cannot be.
fn files(built: &Build, folder: &Path) -> Result<(), OutputError> {
    let namespaces: BTreeSet<&str> = built.objects.iter().filter_map(namespace).collect();
    let mut files: BTreeMap<String, &Resource> = BTreeMap::new();
    for object in &built.objects {
        let file = file_name(object, namespaces.len() > 1);
        let why = match files.get(&file) {
            Some(other) => Some(format!("it would be that of {}, too", title(other))),
            None => unusable(folder, &file),
        };
        if let Some(why) = why {
            let object = title(object);
            return Err(OutputError::Name { object, file, why });
        }
        files.insert(file, object);
    }
    for (file, object) in files {
        let mut text = String::new();
        built.write(object, &mut text)?;
        let path = folder.join(file);
        fs::write(&path, text).map_err(|error| OutputError::File(path.clone(), error))?;
    }
    Ok(())
}

/// Why no file of that name is written in the folder: names of objects are what their author wrote, also `../x`.
fn unusable(folder: &Path, file: &str) -> Option<String> {
    if file.contains(['/', '\0']) {
        return Some("no name of a file holds a slash or a NUL".to_owned());
    }
    if file.len() > LONGEST {
        return Some(format!("names of files have at most {LONGEST} bytes"));
    }
    // Behind a link there may be anything.
    let there = fs::symlink_metadata(folder.join(file)).ok()?;
    (!there.is_file()).then(|| format!("what stands there in {} is no file", folder.display()))
}

/// `ConfigMap shop/settings`.
fn title(object: &Resource) -> String {
    let name = [object.namespace(), object.name()].join("/");
    let title = format!("{} {}", object.id().gvk.kind, name.trim_start_matches('/'));
    words::inline(&title).into_owned()
}

/// `apps_v1_deployment_web.yaml`, with the namespace in front when there are several.
fn file_name(object: &Resource, with_namespace: bool) -> String {
    let gvk = &object.id().gvk;
    let mut parts = Vec::new();
    if with_namespace {
        parts.extend(namespace(object));
    }
    parts.extend([
        gvk.group.as_str(),
        gvk.version.as_str(),
        gvk.kind.as_str(),
        object.name(),
    ]);
    parts.retain(|part| !part.is_empty());
    format!("{}.yaml", parts.join("_").to_lowercase())
}

/// The namespace that an object is in, unless it is in none.
fn namespace(object: &Resource) -> Option<&str> {
    let id = object.id();
    (!id.cluster_scoped).then(|| id.effective_namespace())
}
