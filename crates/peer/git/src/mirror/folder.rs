//! The mirrors of a storage folder from outside: their names, their sizes, their removal.

use std::fs;
use std::path::Path;

use super::layout::{Layout, remove};
use super::lock::FileLock;

/// The names of the mirrors in a folder, including those of other versions.
#[must_use]
pub fn mirrors_in(storage: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(storage) else {
        return Vec::new();
    };
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// The size of a mirror's packs in bytes; 0 when it does not exist.
#[must_use]
pub fn size_on_disk(storage: &Path, name: &str) -> u64 {
    let packs = Layout::new(storage.join(name)).packs_with_sizes();
    packs.map_or(0, |packs| packs.iter().map(|(_, size)| size).sum())
}

/// Removes a mirror with its metadata, unless a reader, perhaps in another process, uses its objects.
/// False when it stays.
pub fn discard(storage: &Path, name: &str) -> bool {
    let layout = Layout::new(storage.join(name));
    if !layout.root().is_dir() {
        return true;
    }
    let Ok(Some(_lease)) = FileLock::try_exclusive(&layout.lease()) else {
        return false;
    };
    // Without this file the folder does not count as a mirror, whatever is left of it.
    let gone = remove(&layout.root().join("config")).and_then(|()| remove(layout.root()));
    let _ = remove(&storage.join(format!("{name}.index")));
    gone.is_ok()
}
