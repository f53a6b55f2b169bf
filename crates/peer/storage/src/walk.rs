//! A walk through the folder of an object, in the order of Go's `filepath.WalkDir`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StorageError;
use crate::garbage::FolderEntry;
use crate::storage::is_partial;

/// Lists everything below a folder but unfinished files; nothing when it does not exist. Links are not followed.
/// Entries that disappear meanwhile are skipped.
pub(crate) fn walk(folder: &Path) -> Result<Vec<FolderEntry>, StorageError> {
    let mut entries = Vec::new();
    // Open folders, each with its remaining entries, last first.
    let mut left = vec![names(folder, Path::new(""))?];
    while let Some(names_left) = left.last_mut() {
        let Some(path) = names_left.pop() else {
            left.pop();
            continue;
        };
        let whole = folder.join(&path);
        let metadata = match fs::symlink_metadata(&whole) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(StorageError::file("look at", whole)(e)),
        };
        if metadata.is_dir() {
            left.push(names(folder, &path)?);
        }
        entries.push(FolderEntry {
            path,
            modified: metadata.modified().map_err(StorageError::file("look at", whole))?,
            is_file: !metadata.is_dir() && !metadata.is_symlink(),
        });
    }
    Ok(entries)
}

/// The entries of a folder as paths below `root`, last name first.
fn names(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let whole = root.join(folder);
    let entries = match fs::read_dir(&whole) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StorageError::file("list", whole)(e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(StorageError::file("list", &whole))?.file_name();
        if !is_partial(&name) {
            names.push(name);
        }
    }
    names.sort_by(|one, other| other.cmp(one));
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}
