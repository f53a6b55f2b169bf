//! Removal of files: garbage, all but the current one, all of a deleted object.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::StorageError;
use crate::garbage::{GARBAGE_COUNT_LIMIT, Retention, garbage};
use crate::layout::{ArtifactPath, Folder, LOCK};
use crate::room::Excess;
use crate::storage::Storage;
use crate::walk::walk;
use bumpwright_api::{Artifact, ObjectName};

/// The result of a collection.
#[derive(Debug, Default)]
pub struct Collected {
    /// Removed files without their locks, as paths on disk.
    pub removed: Vec<PathBuf>,
    /// An error for each file or lock that could not be removed.
    pub faults: Vec<StorageError>,
}

impl Storage {
    /// Removes the garbage beside the current artifact of an object, with its locks (`GarbageCollect`; defined by
    /// [`garbage`]). source-controller does so at the beginning of each reconciliation of an object that has an
    /// artifact, with the artifact of its status. Waits for a write to the same object.
    ///
    /// # Errors
    /// [`StorageError::File`] when the folder cannot be read: then nothing is removed. A file that cannot be removed is
    /// in [`Collected::faults`] and does not stop the others.
    pub fn collect_garbage(&self, artifact: &Artifact) -> Result<Collected, StorageError> {
        let path = ArtifactPath::parse(&artifact.path)?;
        self.in_folder(path.folder(), |folder| {
            self.inner.room.set_current(&path);
            self.collect(&path, folder, &self.inner.settings.retention)
        })
    }

    /// Removes files older than the TTL of other objects, as their own next reconciliations would, so that a file that
    /// exceeds the quota may fit. Objects that are being written to are passed over.
    pub(crate) fn make_room(&self, excess: Excess, folder: &Folder) {
        let retention = Retention {
            records: usize::MAX,
            ..self.inner.settings.retention
        };
        let room = &self.inner.room;
        for neighbour in room.neighbours(excess, folder) {
            self.inner.changing.hold_if_free(neighbour.as_str(), || {
                // What cannot be removed still counts, as the error for the file says.
                if let Some(current) = room.settled(&neighbour, retention.ttl) {
                    let _ = self.in_held_folder(&neighbour, |path| self.collect(&current, path, &retention));
                }
            });
        }
    }

    /// Removes the garbage beside a current artifact, in the folder of its object and under its lock.
    fn collect(&self, current: &ArtifactPath, folder: &Path, retention: &Retention) -> Result<Collected, StorageError> {
        let (file, now) = (Path::new(current.file()), SystemTime::now());
        let garbage = garbage(&walk(folder)?, file, now, retention, GARBAGE_COUNT_LIMIT);
        let mut collected = Collected::default();
        for name in garbage {
            self.remove(current.folder(), folder, &name, &mut collected);
            let mut lock = folder.join(name).into_os_string();
            lock.push(LOCK);
            if let Err(error) = remove_if_there(Path::new(&lock)) {
                collected.faults.push(error);
            }
        }
        Ok(collected)
    }

    /// Removes all files of an object but the current one, its own lock too; links and folders stay
    /// (`RemoveAllButCurrent`).
    pub fn remove_all_but_current(&self, artifact: &Artifact) -> Result<Collected, StorageError> {
        let path = ArtifactPath::parse(&artifact.path)?;
        self.in_folder(path.folder(), |folder| {
            let mut collected = Collected::default();
            let entries = walk(folder)?;
            for one in entries
                .iter()
                .filter(|one| one.is_file && one.path != Path::new(path.file()))
            {
                self.remove(path.folder(), folder, &one.path, &mut collected);
            }
            Ok(collected)
        })
    }

    /// Removes the folder of a deleted object with its content (`RemoveAll`); false when there was none.
    ///
    /// # Errors
    /// [`StorageError::File`] when something in it cannot be removed.
    pub fn remove_all(&self, folder: &Folder) -> Result<bool, StorageError> {
        self.remove_unless(folder, || false)
    }

    /// Removes the folders of a kind's objects that are gone; returns how many.
    ///
    /// # Errors
    /// [`StorageError::File`] when a folder cannot be listed or removed: those before it are.
    pub fn remove_gone(&self, kind: &str, is_there: impl Fn(&ObjectName) -> bool) -> Result<usize, StorageError> {
        let mut count = 0;
        let root = self.inner.settings.path.join(kind.to_lowercase());
        for namespace in folders(&root)? {
            for name in folders(&root.join(&namespace))? {
                let object = ObjectName::new(&namespace, name);
                // What has no such name was not made here.
                let Ok(folder) = Folder::new(kind, &object.namespace, &object.name) else {
                    continue;
                };
                if !is_there(&object) && self.remove_unless(&folder, || is_there(&object))? {
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    /// Removes a folder, unless `stays` says otherwise while nobody writes to it.
    fn remove_unless(&self, folder: &Folder, stays: impl FnOnce() -> bool) -> Result<bool, StorageError> {
        self.in_folder(folder, |path| {
            if stays() {
                return Ok(false);
            }
            self.known().retain(|path, _| path.folder() != folder);
            let removed = fs::remove_dir_all(path).map(|()| true);
            removed.map_err(StorageError::file("remove", path))
        })
    }

    /// Removes the file of an artifact (`Remove`); false when there was none.
    ///
    /// # Errors
    /// [`StorageError::File`] when it cannot be removed.
    pub fn remove_artifact(&self, artifact: &Artifact) -> Result<bool, StorageError> {
        let path = ArtifactPath::parse(&artifact.path)?;
        self.in_folder(path.folder(), |folder| {
            self.forget(&path);
            remove_if_there(&folder.join(path.file()))
        })
    }

    /// Runs an action in the folder of an object under its lock, if the folder exists.
    fn in_folder<T: Default>(
        &self,
        folder: &Folder,
        action: impl FnOnce(&Path) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let changing = &self.inner.changing;
        changing.hold(folder.as_str(), || self.in_held_folder(folder, action))
    }

    /// Runs an action in the folder of an object, whose lock is held, if the folder exists; then measures it again.
    fn in_held_folder<T: Default>(
        &self,
        folder: &Folder,
        action: impl FnOnce(&Path) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        match self.real_folder(folder) {
            Ok(path) => {
                let done = action(&path);
                self.inner.room.measure(folder.as_str(), &path);
                done
            }
            Err(StorageError::File { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(error),
        }
    }

    fn remove(&self, object: &Folder, folder: &Path, name: &Path, collected: &mut Collected) {
        if let Some(Ok(path)) = name.to_str().map(|name| object.file(name)) {
            self.forget(&path);
        }
        let path = folder.join(name);
        match remove_if_there(&path) {
            Ok(true) => collected.removed.push(path),
            Ok(false) => {}
            Err(error) => collected.faults.push(error),
        }
    }
}

/// The names of the folders in a folder; none if the folder does not exist. Links are not followed.
fn folders(folder: &Path) -> Result<Vec<String>, StorageError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(StorageError::file("list", folder))?,
    };
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let folders = entries.flatten().filter(is_folder);
    Ok(folders
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect())
}

fn remove_if_there(path: &Path) -> Result<bool, StorageError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(StorageError::file("remove", path)(e)),
    }
}
