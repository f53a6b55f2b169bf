//! What may be meant by a folder that is not a kustomization: those below that are, or one of nearly its name.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::error::CliError;
use crate::cli::files::near_path;
use crate::cli::words;
use bumpwright_kustomize::kustomization::NAMES;

/// How deep kustomizations are looked for, and in how many folders.
const DEPTH: usize = 4;
const FOLDERS: usize = 1_000;

/// An error of a build, with the folders that may be meant.
pub(super) fn hinted(error: CliError, folder: &str) -> CliError {
    let path = Path::new(folder);
    match fs::metadata(path) {
        Err(missing) => error.meant(near_path(path, &missing).as_deref()),
        Ok(found) if found.is_dir() && !is_kustomization(path) => error.hint(way_out(path)),
        Ok(_) => error,
    }
}

fn way_out(folder: &Path) -> String {
    let below = kustomizations_below(folder);
    if below.is_empty() {
        return "`bumpwright kustomize create --autodetect`, run there, makes one of its manifests".to_owned();
    }
    let below: Vec<String> = below.iter().map(|one| one.display().to_string()).collect();
    format!("there is one in {}", words::inline(&words::some(&below)))
}

fn is_kustomization(folder: &Path) -> bool {
    NAMES.iter().any(|name| folder.join(name).exists())
}

/// The nearest kustomizations below a folder, level by level; not those below another one.
fn kustomizations_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut level, mut left) = (Vec::new(), folders(folder), FOLDERS);
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for one in level.into_iter().take(left) {
            left = left.saturating_sub(1);
            if is_kustomization(&one) {
                found.push(one);
            } else {
                next.extend(folders(&one));
            }
        }
        level = next;
    }
    found
}

/// The folders in one, by name, but for links and hidden ones.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_wanted = |entry: &fs::DirEntry| {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        !is_hidden && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let mut names: Vec<_> = entries.filter(is_wanted).map(|entry| entry.file_name()).collect();
    names.sort();
    let below = |name: OsString| match folder {
        here if here == Path::new(".") => PathBuf::from(name),
        folder => folder.join(name),
    };
    names.into_iter().map(below).collect()
}
