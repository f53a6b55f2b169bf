//! Atomic writes of artifacts: at any moment, also after a crash, the old or the new file exists as a whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

use bumpwright_gostd::{RFC_3339, Time};
use tempfile::NamedTempFile;

use super::error::FillError;
use crate::error::StorageError;
use crate::layout::{ArtifactPath, Folder, PARTIAL};
use crate::room::Excess;
use crate::step::Step;
use crate::storage::{KnownFile, Storage};
use bumpwright_api::Artifact;
use bumpwright_artifact::{Digest, Digester};

/// Metadata of an artifact's origin, such as annotations of an OCI image.
pub type Metadata = BTreeMap<String, String>;

/// The size of the write buffer, in bytes.
const BUFFER: usize = 128 << 10;
/// The mode of folders, as in source-controller: no access for other users of the machine.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

impl Storage {
    /// Writes the file of an artifact; `fill` streams its bytes and returns its metadata. Returns the artifact with
    /// digest, size, time and metadata. Then `link`, if any, such as [`crate::LATEST`], points to the new file.
    ///
    /// Waits for other changes to files of the same object. A file of the same name is replaced.
    ///
    /// # Errors
    /// [`StorageError::Fill`] with the error of `fill`; [`StorageError::File`] when the system refuses a step;
    /// [`StorageError::TooLarge`] and [`StorageError::Full`] beyond the limits; names as in [`ArtifactPath::parse`].
    /// The old file is still there, unless a step after the renaming failed.
    pub fn write(
        &self,
        artifact: &Artifact,
        link: Option<&str>,
        fill: impl FnOnce(&mut dyn Write) -> Result<Metadata, FillError>,
    ) -> Result<Artifact, StorageError> {
        let path = ArtifactPath::parse(&artifact.path)?;
        let link = link.map(|link| path.folder().file(link)).transpose()?;
        self.inner.changing.hold(path.folder().as_str(), || {
            let folder = path.folder().below(&self.inner.settings.path);
            self.step_at(Step::MakeFolder, "make the folder", &folder, || {
                self.make_folder(path.folder())
            })?;
            let lock = self.lock_file(&path)?;
            let written = self.put(&path, fill).inspect_err(|error| {
                // For the next attempt: this one has read its source already.
                if error.is_out_of_space() {
                    self.make_room(Excess::All, path.folder());
                }
            })?;
            self.inner.room.measure(path.folder().as_str(), &folder);
            if let Some(link) = &link {
                self.point(link, &path)?;
            }
            self.inner.room.set_current(&path);
            drop(lock);
            Ok(Artifact {
                digest: written.digest.to_string(),
                size: Some(written.size),
                last_update_time: now(),
                metadata: written.metadata,
                url: self.url(&path.to_string()),
                ..artifact.clone()
            })
        })
    }

    /// Takes the lock between processes, as in source-controller. It is released with the returned file; the file on
    /// disk is removed when the artifact is collected.
    fn lock_file(&self, path: &ArtifactPath) -> Result<File, StorageError> {
        let name = path.lock_below(&self.inner.settings.path);
        let locked = self.inner.steps.before(Step::Lock).and_then(|()| {
            let file = File::options()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(&name)?;
            file.lock()?;
            Ok(file)
        });
        locked.map_err(StorageError::file("lock", name))
    }

    fn put(
        &self,
        path: &ArtifactPath,
        fill: impl FnOnce(&mut dyn Write) -> Result<Metadata, FillError>,
    ) -> Result<Written, StorageError> {
        let folder = path.folder().below(&self.inner.settings.path);
        let name = path.below(&self.inner.settings.path);
        let partial = self.step_at(Step::Create, "make a file in", &folder, || {
            let mode = fs::Permissions::from_mode(FILE_MODE);
            tempfile::Builder::new()
                .prefix(PARTIAL)
                .permissions(mode)
                .tempfile_in(&folder)
        })?;
        self.step_at(Step::Fill, "write", &name, || Ok(()))?;
        let (partial, written) = self.filled(partial, &name, fill)?;
        self.admit(path.folder(), &name, written.size)?;
        self.step_at(Step::SyncFile, "sync", &name, || partial.as_file().sync_all())?;
        // Until the new digest is known here, the new file must not count as a damaged old one.
        let before = self.known().remove(path);
        let renamed = self.step_at(Step::Rename, "put in place", &name, || {
            partial.persist(&name).map_err(|refused| refused.error)
        });
        if renamed.is_err()
            && let Some(before) = before
        {
            self.known().insert(path.clone(), before);
        }
        renamed?;
        let file = KnownFile {
            expected: Some(written.digest.clone()),
            seen: None,
        };
        self.known().insert(path.clone(), file);
        self.step_at(Step::SyncFolder, "sync the folder", &folder, || sync_folder(&folder))?;
        Ok(written)
    }

    /// Checks whether a further file of this size fits into the quota, if need be without the garbage of other objects.
    fn admit(&self, folder: &Folder, name: &Path, size: u64) -> Result<(), StorageError> {
        let room = &self.inner.room;
        let Some(excess) = room.excess(folder, size) else {
            return Ok(());
        };
        self.make_room(excess, folder);
        match room.excess(folder, size) {
            Some(excess) => Err(room.full(excess, folder, name)),
            None => Ok(()),
        }
    }

    fn filled(
        &self,
        partial: NamedTempFile,
        name: &Path,
        fill: impl FnOnce(&mut dyn Write) -> Result<Metadata, FillError>,
    ) -> Result<(NamedTempFile, Written), StorageError> {
        let sink = Sink {
            file: partial,
            hasher: self.inner.settings.algorithm.digester(),
            size: 0,
            most: self.inner.settings.max_size.unwrap_or(u64::MAX),
            fault: None,
        };
        let mut buffered = BufWriter::with_capacity(BUFFER, sink);
        let filled = fill(&mut buffered);
        let flushed = if filled.is_ok() { buffered.flush() } else { Ok(()) };
        let (sink, _) = buffered.into_parts();
        // The error of `fill` may hide the file and the cause.
        match sink.fault {
            Some(Fault::System(cause)) => return Err(StorageError::file("write", name)(cause)),
            Some(Fault::TooLarge) => {
                return Err(StorageError::TooLarge {
                    path: name.to_owned(),
                    most: sink.most,
                });
            }
            None => {}
        }
        let metadata = filled.map_err(|cause| StorageError::Fill {
            path: name.to_owned(),
            cause,
        })?;
        flushed.map_err(StorageError::file("write", name))?;
        let written = Written {
            digest: sink.hasher.finish(),
            size: sink.size,
            metadata,
        };
        Ok((sink.file, written))
    }

    /// Points a link to a file beside it. The target is a plain name, so that the folder can be moved.
    fn point(&self, link: &ArtifactPath, target: &ArtifactPath) -> Result<(), StorageError> {
        let folder = link.folder().below(&self.inner.settings.path);
        let name = link.below(&self.inner.settings.path);
        let partial = self.step_at(Step::MakeLink, "make a link in", &folder, || {
            let make = |path: &Path| std::os::unix::fs::symlink(target.file(), path);
            tempfile::Builder::new().prefix(PARTIAL).make_in(&folder, make)
        })?;
        self.step_at(Step::RenameLink, "put in place", &name, || {
            partial.into_temp_path().persist(&name).map_err(|refused| refused.error)
        })?;
        self.step_at(Step::SyncLink, "sync the folder", &folder, || sync_folder(&folder))
    }

    /// Creates the folder of an object, and the storage's own when the volume was lost.
    fn make_folder(&self, folder: &Folder) -> io::Result<()> {
        let mut path = self.inner.settings.path.clone();
        fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&path)?;
        for name in folder.names() {
            let parent = path.clone();
            path.push(name);
            match fs::DirBuilder::new().mode(FOLDER_MODE).create(&path) {
                Ok(()) => sync_folder(&parent)?,
                // A link could lead out of the storage.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(&path)?.is_dir() => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(io::ErrorKind::NotADirectory.into()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn step_at<T>(
        &self,
        step: Step,
        attempt: &'static str,
        path: &Path,
        action: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, StorageError> {
        let done = self.inner.steps.before(step).and_then(|()| action());
        done.map_err(StorageError::file(attempt, path))
    }
}

struct Written {
    digest: Digest,
    size: u64,
    metadata: Metadata,
}

enum Fault {
    System(io::Error),
    TooLarge,
}

/// The unfinished file, with digest and size of its bytes.
struct Sink {
    file: NamedTempFile,
    hasher: Digester,
    size: u64,
    most: u64,
    /// Why bytes were refused.
    fault: Option<Fault>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let after = self.size.saturating_add(bytes.len() as u64);
        if after > self.most {
            self.fault = Some(Fault::TooLarge);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        match self.file.write(bytes) {
            Ok(number) => {
                self.hasher.update(bytes.get(..number).unwrap_or(bytes));
                self.size += number as u64;
                Ok(number)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
            Err(e) => {
                let reported = e.kind().into();
                self.fault = Some(Fault::System(e));
                Err(reported)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Syncs a folder, and so the names in it.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The current time in the format of `metav1.Time`.
fn now() -> String {
    Time::from(SystemTime::now()).written(RFC_3339)
}
