//! `-o DIR` of `build`: a file for each object, named as kustomize names it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::words;

/// Limit on file names, in bytes, of all common file systems.
const LONGEST: usize = 255;

pub(super) struct BuiltObject {
    /// Its name in errors: kind, namespace and name.
    pub(super) title: String,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    /// Its namespace, if it has one.
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) text: String,
}

/// `ConfigMap shop/settings`.
pub(super) fn title(kind: &str, namespace: &str, name: &str) -> String {
    let name = [namespace, name].join("/");
    let title = format!("{kind} {}", name.trim_start_matches('/'));
    words::inline(&title).into_owned()
}

/// Writes the objects into a folder; none if one of them cannot be written.
pub(super) fn write(objects: &[BuiltObject], folder: &Path) -> Result<(), CliError> {
    let namespaces: BTreeSet<_> = objects.iter().filter_map(|object| object.namespace.as_ref()).collect();
    let mut files: BTreeMap<String, &BuiltObject> = BTreeMap::new();
    for object in objects {
        let file = object.file_name(namespaces.len() > 1);
        let why = match files.get(&file) {
            Some(other) => Some(format!("it would be that of {}, too", other.title)),
            None => unusable(folder, &file),
        };
        if let Some(why) = why {
            let text = format!("{} cannot be written to a file {file:?}: {why}", object.title);
            return Err(CliError::new(text).hint("-o FILE writes all objects to one file"));
        }
        files.insert(file, object);
    }
    for (file, object) in files {
        let path = folder.join(file);
        fs::write(&path, &object.text).at(path.display())?;
    }
    Ok(())
}

impl BuiltObject {
    /// `apps_v1_deployment_web.yaml`, prefixed with the namespace when there are several.
    fn file_name(&self, with_namespace: bool) -> String {
        let namespace = self.namespace.iter().filter(|_| with_namespace);
        let parts = namespace.chain([&self.group, &self.version, &self.kind, &self.name]);
        let parts: Vec<&str> = parts.map(String::as_str).filter(|part| !part.is_empty()).collect();
        format!("{}.yaml", parts.join("_").to_lowercase())
    }
}

/// Why a file name is refused: object names are arbitrary text, also `../x`.
fn unusable(folder: &Path, file: &str) -> Option<String> {
    if file.contains(['/', '\0']) {
        return Some("no name of a file holds a slash or a NUL".to_owned());
    }
    if file.len() > LONGEST {
        return Some(format!("names of files have at most {LONGEST} bytes"));
    }
    // A link may point anywhere.
    let metadata = fs::symlink_metadata(folder.join(file)).ok()?;
    (!metadata.is_file()).then(|| format!("it exists in {} and is not a file", folder.display()))
}
