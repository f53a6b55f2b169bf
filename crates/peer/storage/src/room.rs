//! The quota of artifacts: of all of them, and half of it for each namespace, so that no tenant uses up the
//! space of others, and the volume never gets full.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::StorageError;
use crate::layout::{ArtifactPath, Folder};

/// What each object's folder holds.
#[derive(Debug)]
pub(crate) struct Quota {
    most: u64,
    folders: Mutex<HashMap<String, Held>>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: u64,
    /// The current artifact, and since when it is known as such here; none before the object's first reconciliation.
    current: Option<(ArtifactPath, Instant)>,
}

/// Why a file does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// The files of its namespace would take more than half of the quota.
    Namespace,
    /// All files would take more than the quota.
    All,
}

impl Quota {
    /// A quota of so many bytes, all unused.
    pub(crate) fn of(most: u64) -> Self {
        Self {
            most,
            folders: Mutex::default(),
        }
    }

    /// Whether a further file of this size exceeds the quota.
    pub(crate) fn excess(&self, folder: &Folder, size: u64) -> Option<Excess> {
        let namespace = namespace(folder.as_str());
        let (mut all, mut own) = (size, size);
        for (other, held) in self.folders.lock().iter() {
            all = all.saturating_add(held.bytes);
            if self::namespace(other) == namespace {
                own = own.saturating_add(held.bytes);
            }
        }
        match (own > self.most / 2, all > self.most) {
            (true, _) => Some(Excess::Namespace),
            (false, true) => Some(Excess::All),
            (false, false) => None,
        }
    }

    /// The error for a file that does not fit.
    pub(crate) fn full(&self, excess: Excess, folder: &Folder, path: &Path) -> StorageError {
        let (whose, most) = match excess {
            Excess::Namespace => {
                let namespace = namespace(folder.as_str());
                (format!("those of namespace {namespace}"), self.most / 2)
            }
            Excess::All => ("all artifacts".to_owned(), self.most),
        };
        StorageError::Full {
            path: path.to_owned(),
            whose,
            most,
        }
    }

    /// Measures the folder of an object again, at `path`.
    pub(crate) fn measure(&self, folder: &str, path: &Path) {
        let bytes = size_of(path);
        let mut folders = self.folders.lock();
        match bytes {
            0 => {
                folders.remove(folder);
            }
            bytes => folders.entry(folder.to_owned()).or_default().bytes = bytes,
        }
    }

    /// Remembers the current artifact of an object.
    pub(crate) fn set_current(&self, path: &ArtifactPath) {
        if let Some(held) = self.folders.lock().get_mut(path.folder().as_str())
            && held.current.as_ref().is_none_or(|(current, _)| current != path)
        {
            held.current = Some((path.clone(), Instant::now()));
        }
    }

    /// The other objects whose files count for this excess, and whose current artifacts are known.
    pub(crate) fn neighbours(&self, excess: Excess, folder: &Folder) -> Vec<Folder> {
        let namespace = namespace(folder.as_str());
        let folders = self.folders.lock();
        let current = folders.values().filter_map(|held| held.current.as_ref());
        let current = current.map(|(path, _)| path.folder());
        let counting = current.filter(|other| {
            *other != folder && (excess == Excess::All || self::namespace(other.as_str()) == namespace)
        });
        counting.cloned().collect()
    }

    /// The current artifact of an object; none when it became that less than `ttl` ago: the status may still name the
    /// one before.
    pub(crate) fn settled(&self, folder: &Folder, ttl: Duration) -> Option<ArtifactPath> {
        let folders = self.folders.lock();
        let (path, since) = folders.get(folder.as_str())?.current.as_ref()?;
        (since.elapsed() > ttl).then(|| path.clone())
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
