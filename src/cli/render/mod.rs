//! `bumpwright build`: the output of `kustomize build`.

pub mod args;
pub(super) mod building;
mod charts;
pub(super) mod diff;
mod files;
mod folder;
mod kustomization;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::console::{end, print, say};
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_kustomize::Build;
use charts::WithCharts;
use files::BuiltObject;

#[must_use]
pub fn run(args: &args::Build) -> ExitCode {
    if args.flux.kustomization.is_some() {
        return kustomization::build::run(args);
    }
    end(build(args))
}

fn build(args: &args::Build) -> Result<(), CliError> {
    args.flux.check()?;
    let world = WithCharts::by_chance(building::world(&args.flux.bounds));
    let built = building::build(&args.target, &args.building, &world)?;
    for warning in &built.warnings {
        say("warning", warning);
    }
    output(&built, args.output.as_deref())
}

fn output(built: &Build, path: Option<&Path>) -> Result<(), CliError> {
    if let Some(folder) = path.filter(|path| path.is_dir()) {
        return files(built, folder);
    }
    let text = built.to_yaml()?;
    match path {
        Some(file) => fs::write(file, text).at(file.display()),
        None => print(text.as_bytes()).at("cannot print what was built"),
    }
}

/// Writes a file for each object.
fn files(built: &Build, folder: &Path) -> Result<(), CliError> {
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
    files::write(&objects, folder)
}
