//! The manifests of `-f`: files, folders, standard input.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::files::absent;
use bumpwright_api::{Document, ManifestErrors, Objects, UnknownFields, read, read_in_folder};

/// Suffix of the groups of all kinds but Secret.
const FLUX: &str = ".toolkit.fluxcd.io";

/// Reads all manifests; files of a folder in the order of their names.
///
/// # Errors
///
/// A file that cannot be read or does not match the schema, or two different objects of one name: in
/// words for the user.
pub fn load(filenames: &[PathBuf], unknown: UnknownFields) -> Result<Objects, CliError> {
    let mut objects = Objects::default();
    for filename in filenames {
        if filename.as_os_str() == "-" {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text).at("standard input")?;
            add(&mut objects, read("standard input", &text, unknown))?;
            continue;
        }
        let mut files = Vec::new();
        list(filename, true, &mut files)?;
        for file in files {
            let text = fs::read(&file).at(file.display())?;
            if file != *filename && is_none_of_ours(&text) {
                continue;
            }
            let path = file.display().to_string();
            let documents = if file == *filename {
                read(&path, &text, unknown)
            } else {
                read_in_folder(&path, &text, unknown)
            };
            add(&mut objects, documents)?;
        }
    }
    Ok(objects)
}

/// Folders have more than manifests: charts with templates, values, pipelines. Files without objects of our kinds need
/// not even parse. A Secret that does not parse is reported as missing when it is needed.
fn is_none_of_ours(text: &[u8]) -> bool {
    let holds = |word: &str| memchr::memmem::find(text, word.as_bytes()).is_some();
    let core = ["Secret", "ServiceAccount", "Namespace"].into_iter().any(holds);
    !holds(FLUX) && (!core || read("", text, UnknownFields::Allow).is_err())
}

fn add(objects: &mut Objects, documents: Result<Vec<Document>, ManifestErrors>) -> Result<(), CliError> {
    Ok(objects.insert_all(documents?)?)
}

/// The effect of `--allow-unknown-fields`.
pub(super) const fn unknown_fields(allowed: bool) -> UnknownFields {
    if allowed {
        UnknownFields::Allow
    } else {
        UnknownFields::Refuse
    }
}

/// A file by its name, or the YAML and JSON files of a folder.
pub(super) fn list(path: &Path, named: bool, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    if !fs::metadata(path).map_err(|error| absent(path, error))?.is_dir() {
        let is_manifest = |extension: &OsStr| ["yaml", "yml", "json"].iter().any(|known| extension == *known);
        if named || path.extension().is_some_and(is_manifest) {
            files.push(path.to_owned());
        }
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in fs::read_dir(path).at(path.display())? {
        below.push(entry.at(path.display())?.path());
    }
    below.sort();
    // Links to folders may form cycles; their files are found at their real place.
    let follow = |below: &&PathBuf| !below.is_symlink() || below.is_file();
    let hidden = |below: &PathBuf| below.file_name().is_some_and(|name| name == ".git");
    below
        .iter()
        .filter(follow)
        .filter(|below| !hidden(below))
        .try_for_each(|below| list(below, false, files))
}
