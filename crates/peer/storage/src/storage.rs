//! The storage: its folder, its settings, and its state of files.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::address::url;
use crate::error::StorageError;
use crate::garbage::Retention;
use crate::identity::Identity;
use crate::layout::{ArtifactPath, Folder, NameError, PARTIAL};
use crate::locks::Locks;
use crate::room::Quota;
use crate::step::Steps;
use bumpwright_api::Artifact;
use bumpwright_artifact::{Algorithm, Digest};

/// The settings of a storage.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder (`--storage-path`, `/data`).
    pub path: PathBuf,
    /// The host in URLs, from [`crate::advertised_host`].
    pub host: String,
    /// The retention of files.
    pub retention: Retention,
    /// The digest algorithm (`--artifact-digest-algo`).
    pub algorithm: Algorithm,
    /// The most bytes of a file (`--max-artifact-size`).
    pub max_size: Option<u64>,
    /// The most bytes of all files (`--artifacts-size`); half of it for those of a namespace.
    pub room: u64,
}

/// A folder of artifacts. Clones are the same storage.
#[derive(Clone, Debug)]
pub struct Storage {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) settings: Settings,
    /// Locks for changes to the files of an object, by folder.
    pub(crate) changing: Locks,
    /// Locks for checks of a file, by path. Taken before `changing`, never after.
    pub(crate) checking: Locks,
    pub(crate) steps: Steps,
    pub(crate) room: Quota,
    known: Mutex<HashMap<ArtifactPath, KnownFile>>,
}

/// The known state of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownFile {
    /// The digest of the written bytes, or of a status.
    pub(crate) expected: Option<Digest>,
    /// The file at its last read, and its digest.
    pub(crate) seen: Option<(Identity, Digest)>,
}

impl Storage {
    /// Opens an existing folder, and removes leftovers of interrupted writes.
    ///
    /// # Errors
    /// [`StorageError::Folder`] when it is not a folder. A read-only one is accepted: see [`Storage::ready`].
    pub fn new(settings: Settings) -> Result<Self, StorageError> {
        Self::with_steps(settings, Steps::unwatched())
    }

    pub(crate) fn with_steps(settings: Settings, steps: Steps) -> Result<Self, StorageError> {
        let is_folder = fs::metadata(&settings.path).and_then(|metadata| {
            if metadata.is_dir() {
                Ok(())
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        });
        if let Err(cause) = is_folder {
            let path = settings.path;
            return Err(StorageError::Folder { path, cause });
        }
        let storage = Self {
            inner: Arc::new(Inner {
                room: Quota::of(settings.room),
                settings,
                changing: Locks::default(),
                checking: Locks::default(),
                steps,
                known: Mutex::default(),
            }),
        };
        storage.sweep();
        Ok(storage)
    }

    /// An artifact to write (`NewArtifactFor`).
    ///
    /// # Errors
    /// [`NameError`] when the name of the file is not valid.
    pub fn artifact(&self, folder: &Folder, file: &str, revision: &str) -> Result<Artifact, NameError> {
        let path = folder.file(file)?.to_string();
        Ok(Artifact {
            url: url(&self.inner.settings.host, &path),
            path,
            revision: revision.to_owned(),
            ..Artifact::default()
        })
    }

    /// The current URL of an artifact, or of a link to one (`status.url`), from its path. Statuses may have
    /// the host of earlier settings.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        url(&self.inner.settings.host, path)
    }

    /// The URL of the link of this name beside an artifact (`status.url` of Buckets and OCIRepositories).
    ///
    /// # Errors
    /// [`NameError`] when one of the names is not valid.
    pub fn link_url(&self, artifact: &Artifact, link: &str) -> Result<String, NameError> {
        let path = ArtifactPath::parse(&artifact.path)?.folder().file(link)?;
        Ok(self.url(&path.to_string()))
    }

    /// Whether the artifact's file exists (`ArtifactExist`); its contents are not checked.
    #[must_use]
    pub fn exists(&self, artifact: &Artifact) -> bool {
        let Ok(path) = ArtifactPath::parse(&artifact.path) else {
            return false;
        };
        let folder = self.real_folder(path.folder());
        let metadata = folder.map(|folder| fs::symlink_metadata(folder.join(path.file())));
        matches!(metadata, Ok(Ok(metadata)) if metadata.is_file())
    }

    /// The folder of an object as a path on disk. A link in place of it, or of a parent, could lead out of the
    /// storage, and does not count as a folder.
    pub(crate) fn real_folder(&self, folder: &Folder) -> Result<PathBuf, StorageError> {
        let mut path = self.inner.settings.path.clone();
        for name in folder.names() {
            path.push(name);
            let is_folder = fs::symlink_metadata(&path).and_then(|metadata| {
                if metadata.is_dir() {
                    Ok(())
                } else {
                    Err(io::ErrorKind::NotADirectory.into())
                }
            });
            is_folder.map_err(StorageError::file("look into", &path))?;
        }
        Ok(path)
    }

    /// Checks whether files can be written, with a small one that is removed.
    ///
    /// # Errors
    /// [`StorageError::Folder`] with the system's reason: the volume is lost, full or read-only.
    pub fn ready(&self) -> Result<(), StorageError> {
        let path = &self.inner.settings.path;
        let probe = tempfile::Builder::new().prefix(PARTIAL).tempfile_in(path);
        let written = probe.and_then(|mut file| io::Write::write_all(&mut file, b"ready"));
        written.map_err(|cause| StorageError::Folder {
            path: path.clone(),
            cause,
        })
    }

    /// Removes leftovers of interrupted writes: files and links that never got their names.
    fn sweep(&self) {
        let mut folders = vec![(self.inner.settings.path.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let path = entry.path();
                if let Ok(names) = path.strip_prefix(&self.inner.settings.path)
                    && is_folder
                    && depth == 2
                {
                    self.inner.room.measure(&names.to_string_lossy(), &path);
                }
                if is_folder && depth < 3 {
                    folders.push((entry.path(), depth + 1));
                } else if !is_folder && is_partial(&entry.file_name()) {
                    // A remaining one takes space and does no harm.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, HashMap<ArtifactPath, KnownFile>> {
        self.inner.known.lock()
    }

    /// Drops the state of a file that is gone or about to change.
    pub(crate) fn forget(&self, path: &ArtifactPath) {
        self.known().remove(path);
    }
}

/// Whether a file or link is unfinished.
pub(crate) fn is_partial(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PARTIAL.as_bytes())
}
