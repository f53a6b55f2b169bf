//! `bumpwright build -k`: prints the objects that the controller would apply.

use std::path::Path;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::args::Build;
use super::super::files::{self, BuiltObject};
use super::super::kustomization;
use crate::cli::console::{cannot_print, end, print, say};
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_apply::{Desired, as_applied};
use bumpwright_json::Texts;
use bumpwright_kube::GroupVersionKind;
use bumpwright_sops::MASK;
use bumpwright_yaml::{node_of_json, write_sigs};

pub(in crate::cli) fn run(args: &Build) -> ExitCode {
    end(build(args))
}

fn build(args: &Build) -> Result<(), CliError> {
    let Some(built) = kustomization::build(&args.flux, &args.building, args.redact)? else {
        return Ok(());
    };
    for warning in &built.built.warnings {
        say("warning", warning);
    }
    let settings = built.settings();
    let mut objects = Vec::new();
    for Desired { mut object, origin } in built.into_desired() {
        as_applied(&mut object, &settings).map_err(|error| match origin {
            Some(place) => CliError::from(error).at(place),
            None => error.into(),
        })?;
        if args.redact {
            show_masks(&mut object);
        }
        objects.push(printed(&object)?);
    }
    write(&objects, args.output.as_deref())
}

fn printed(object: &Value) -> Result<BuiltObject, CliError> {
    let mut text = String::new();
    write_sigs(&node_of_json(object), &mut text).map_err(|error| error.go().to_owned())?;
    let gvk = GroupVersionKind::of(object);
    let metadata = object.value_at("/metadata");
    let (namespace, name) = (metadata.value_at("/namespace").as_str(), metadata.text_of("name"));
    Ok(BuiltObject {
        title: files::title(&gvk.kind, metadata.text_of("namespace"), name),
        group: gvk.group,
        version: gvk.version,
        kind: gvk.kind,
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
        text,
    })
}

fn write(objects: &[BuiltObject], path: Option<&Path>) -> Result<(), CliError> {
    if let Some(folder) = path.filter(|path| path.is_dir()) {
        return files::write(objects, folder);
    }
    let texts: Vec<&str> = objects.iter().map(|object| object.text.as_str()).collect();
    let text = texts.join("---\n");
    match path {
        Some(path) => std::fs::write(path, text).at(path.display()),
        None => print(text.as_bytes()).map_err(cannot_print),
    }
}

/// Data of Secrets is base64, which would hide a mask.
fn show_masks(object: &mut Value) {
    if object.get("kind").is_none_or(|kind| kind != "Secret") {
        return;
    }
    let data = object.get_mut("data").and_then(Value::as_object_mut);
    for (_, value) in data.into_iter().flatten() {
        // kustomize wraps long base64.
        let text: Option<String> = value.as_str().map(|text| text.split_whitespace().collect());
        let bytes = text.and_then(|text| STANDARD.decode(text).ok());
        if bytes.is_some_and(|bytes| memchr::memmem::find(&bytes, MASK.as_bytes()).is_some()) {
            *value = Value::from(MASK);
        }
    }
}
