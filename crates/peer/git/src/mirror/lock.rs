//! Advisory file locks between processes, and between threads of one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::GitError;

/// A lock that is held until the value is dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for a shared lock.
    pub(crate) fn shared(path: &Path) -> Result<Self, GitError> {
        let file = open(path)?;
        held(file.lock_shared()).map_err(GitError::storage("lock", path))?;
        Ok(Self { _file: file })
    }

    /// Waits for an exclusive lock.
    pub(crate) fn exclusive(path: &Path) -> Result<Self, GitError> {
        let file = open(path)?;
        held(file.lock()).map_err(GitError::storage("lock", path))?;
        Ok(Self { _file: file })
    }

    /// Takes an exclusive lock unless another lock of either sort is held.
    pub(crate) fn try_exclusive(path: &Path) -> Result<Option<Self>, GitError> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) if source.kind() == ErrorKind::Unsupported => Ok(None),
            Err(TryLockError::Error(source)) => Err(GitError::storage("lock", path)(source)),
        }
    }
}

/// A file system without locks is not shared by processes; damage that happens there all the same is
/// repaired by a rebuild.
fn held(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        other => other,
    }
}

fn open(path: &Path) -> Result<File, GitError> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(GitError::storage("open", path))
}
