//! `bumpwright build`: the output of `kustomize build`.

pub mod args;
pub(super) mod building;
mod charts;
pub(super) mod diff;
mod files;
mod kustomization;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::console::{end, print, say};
use bumpwright_kustomize::{Build, BuildError};
use charts::WithCharts;
use files::{BuiltObject, FilesError};

/// The output cannot be written.
#[derive(Debug, thiserror::Error)]
enum OutputError {
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("cannot print what was built: {0}")]
    Print(io::Error),
    #[error(transparent)]
    Value(#[from] BuildError),
}

/// Runs the command.
#[must_use]
pub fn run(args: &args::Build) -> ExitCode {
    if args.flux.kustomization.is_some() {
        return kustomization::build::run(args);
    }
    if let Err(error) = args.flux.check() {
        return end(Err(error));
    }
    let built = match building::build(
        &args.target,
        &args.building,
        &WithCharts::by_chance(building::world(&args.flux.bounds)),
    ) {
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

/// Writes a file for each object.
fn files(built: &Build, folder: &Path) -> Result<(), OutputError> {
    let mut objects = Vec::new();
    for object in &built.objects {
        let (id, mut text) = (object.id(), String::new());
        built.write(object, &mut text)?;
        objects.push(BuiltObject {
            title: files::title(&id.gvk.kind, object.namespace(), object.name()),
            group: id.gvk.group.to_string(),
            version: id.gvk.version.to_string(),
            kind: id.gvk.kind.to_string(),
            namespace: (!id.cluster_scoped).then(|| id.effective_namespace().to_owned()),
            name: object.name().to_owned(),
            text,
        });
    }
    Ok(files::write(&objects, folder)?)
}
