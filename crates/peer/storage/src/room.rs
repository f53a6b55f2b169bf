//! The quota of artifacts: of all of them, and half of it for each namespace, so that no tenant uses up the
//! space of others, and the volume never gets full.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::error::StorageError;
use crate::layout::Folder;

/// The used bytes of each object's folder.
#[derive(Debug)]
pub(crate) struct Quota {
    most: u64,
    folders: Mutex<HashMap<String, u64>>,
}

impl Quota {
    /// A quota of so many bytes, all unused.
    pub(crate) fn of(most: u64) -> Self {
        Self {
            most,
            folders: Mutex::default(),
        }
    }

    /// Checks whether a file of this size fits into the quota.
    ///
    /// # Errors
    /// [`StorageError::Full`]
    pub(crate) fn admit(&self, folder: &Folder, path: &Path, size: u64) -> Result<(), StorageError> {
        let folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let namespace = namespace(folder.as_str());
        let (mut all, mut own) = (size, size);
        for (other, bytes) in folders.iter() {
            all = all.saturating_add(*bytes);
            if self::namespace(other) == namespace {
                own = own.saturating_add(*bytes);
            }
        }
        let (taken, most, whose) = match own > self.most / 2 {
            true => (own, self.most / 2, format!("those of namespace {namespace}")),
            false => (all, self.most, "all artifacts".to_owned()),
        };
        match taken > most {
            true => Err(StorageError::Full {
                path: path.to_owned(),
                whose,
                most,
            }),
            false => Ok(()),
        }
    }

    /// Measures the folder of an object again, at `path`.
    pub(crate) fn measure(&self, folder: &str, path: &Path) {
        let bytes = size_of(path);
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        match bytes {
            0 => folders.remove(folder),
            bytes => folders.insert(folder.to_owned(), bytes),
        };
    }
}

/// The namespace of `kind/namespace/name`.
fn namespace(folder: &str) -> &str {
    folder.split('/').nth(1).unwrap_or_default()
}

/// The bytes of the files in a folder, without links and unreadable files.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files.filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}
