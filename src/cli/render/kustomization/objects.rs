//! Objects of manifests for `-k`: the Kustomization itself, and the ConfigMaps and Secrets that it refers to.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::load;
use bumpwright_api::{Kustomization, ManifestErrors, ObjectName, UnknownFields, check_kustomizations};
use bumpwright_json::Texts;
use bumpwright_yaml::{FileId, json_of_node, read_resources};

const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// Reads the one Kustomization of a file, or the one named `name`, `[NAMESPACE/]NAME`, checked against the schema.
///
/// # Errors
/// The file cannot be read, or has none or several (their names are in the error), or it does not match the schema.
pub(super) fn kustomization(
    file: &Path,
    name: Option<&str>,
    unknown: UnknownFields,
) -> Result<Kustomization, CliError> {
    let shown = name_of(file);
    let bytes = bytes(file)?;
    let wanted = |namespace: &str, own: &str| match name.map(|name| name.split_once('/').ok_or(name)) {
        None => true,
        Some(Ok((in_namespace, name))) => (in_namespace, name) == (namespace, own),
        Some(Err(name)) => name == own,
    };
    let mut found = Vec::new();
    let mut all = Vec::new();
    for object in documents(&bytes).at(&shown)? {
        all.push(title(&object));
        let is_ours = group(&object) == GROUP && object.text_at("/kind") == "Kustomization";
        let is_wanted = || wanted(object.text_at("/metadata/namespace"), object.text_at("/metadata/name"));
        let fits = is_ours && is_wanted();
        found.extend(fits.then_some(object));
    }
    let object = match (found.pop(), found.is_empty()) {
        (Some(object), true) => object,
        _ => return Err(not_one(&shown, name, &all)),
    };
    let faults = check_kustomizations(&shown, &bytes, unknown, |namespace, own| {
        wanted(namespace.unwrap_or(""), own)
    });
    if !faults.is_empty() {
        return Err(ManifestErrors(faults).into());
    }
    let title = title(&object);
    serde_json::from_value(object).at(format_args!("{shown}: {title}"))
}

/// The error for a file without the requested Kustomization.
fn not_one(shown: &str, name: Option<&str>, all: &[String]) -> CliError {
    let names = match all {
        [] => "nothing".to_owned(),
        all => all.join(", "),
    };
    match name {
        Some(name) => CliError::new(format!("expected one Kustomization {name} of {GROUP}, found {names}")),
        None => CliError::new(format!("expected one Kustomization of {GROUP}, found {names}"))
            .hint("--name takes one of several"),
    }
    .at(shown)
}

/// ConfigMaps and Secrets by kind and name.
#[derive(Default)]
pub(super) struct Configs(BTreeMap<(String, ObjectName), Value>);

impl Configs {
    /// Reads files and folders.
    ///
    /// # Errors
    /// A file cannot be read, a named one is not YAML, or two objects of one name differ.
    pub(super) fn load(filenames: &[PathBuf]) -> Result<Self, CliError> {
        let mut configs = Self::default();
        for filename in filenames {
            let mut files = Vec::new();
            if filename.as_os_str() == "-" {
                files.push(filename.clone())
            } else {
                load::list(filename, true, &mut files)?
            }
            for file in files {
                match documents(&bytes(&file)?) {
                    Ok(objects) => objects.into_iter().try_for_each(|object| configs.add(object, &file))?,
                    Err(error) if file == *filename => return Err(error.at(name_of(&file))),
                    // Folders have more than manifests: charts with templates, values, pipelines.
                    Err(_) => {}
                }
            }
        }
        Ok(configs)
    }

    /// The object of that kind and name.
    pub(super) fn get(&self, kind: &str, name: &ObjectName) -> Option<&Value> {
        self.0.get(&(kind.to_owned(), name.clone()))
    }

    fn add(&mut self, object: Value, file: &Path) -> Result<(), CliError> {
        let kind = object.text_at("/kind");
        if object.text_at("/apiVersion") != "v1" || !matches!(kind, "ConfigMap" | "Secret") {
            return Ok(());
        }
        let namespace = match object.text_at("/metadata/namespace") {
            "" => "default",
            namespace => namespace,
        };
        let key = (
            kind.to_owned(),
            ObjectName::new(namespace, object.text_at("/metadata/name")),
        );
        match self.0.get(&key) {
            Some(known) if *known != object => {
                Err(
                    CliError::new(format!("{}: {kind} {} stands twice and differs", name_of(file), key.1))
                        .hint("leave one of them out"),
                )
            }
            _ => {
                self.0.insert(key, object);
                Ok(())
            }
        }
    }
}

/// The name of a file in messages.
fn name_of(file: &Path) -> String {
    if file.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    }
}

fn bytes(file: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    read.at(name_of(file))
}

/// The objects of a text, with lists expanded.
fn documents(bytes: &[u8]) -> Result<Vec<Value>, CliError> {
    let mut objects = Vec::new();
    for node in read_resources(bytes, FileId::NONE)? {
        let mut value = json_of_node(&node).map_err(|error| error.go().to_owned())?;
        match value.get_mut("items").and_then(Value::as_array_mut) {
            Some(items) => objects.append(items),
            None => objects.push(value),
        }
    }
    objects.retain(|object| !object.is_null());
    Ok(objects)
}

fn group(object: &Value) -> &str {
    object
        .text_at("/apiVersion")
        .split_once('/')
        .map_or("", |(group, _)| group)
}

/// `Kind.group namespace/name`
fn title(object: &Value) -> String {
    let kind = [object.text_at("/kind"), group(object)].join(".");
    let name = [object.text_at("/metadata/namespace"), object.text_at("/metadata/name")].join("/");
    let title = format!("{} {}", kind.trim_end_matches('.'), name.trim_start_matches('/'));
    match title.trim() {
        "" => "a document that is not an object".to_owned(),
        title => title.to_owned(),
    }
}
