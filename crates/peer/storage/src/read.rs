//! Readers of artifacts in this process, which check the digest.

use std::fs::{self, File};
use std::io::{self, Read};

use crate::error::StorageError;
use crate::identity::Identity;
use crate::layout::ArtifactPath;
use crate::storage::Storage;
use bumpwright_api::Artifact;
use bumpwright_artifact::{Digest, Digester};

impl Storage {
    /// Opens the file of an artifact. The end of the file is an error of kind `InvalidData` when the bytes do not match
    /// the artifact's digest: with a [`StorageError::Damaged`] in it when they differ from what was written too,
    /// and the file is then removed; else with a [`StorageError::Replaced`]. So the bytes must not be used before
    /// the end is verified: [`VerifiedReader::finish`].
    ///
    /// # Errors
    /// [`StorageError::Digest`] when the artifact has no digest; [`StorageError::File`] when the file is missing, see
    /// [`StorageError::is_absent`].
    pub fn open(&self, artifact: &Artifact) -> Result<VerifiedReader, StorageError> {
        let path = ArtifactPath::parse(&artifact.path)?;
        let name = self.real_folder(path.folder())?.join(path.file());
        let expected: Digest = artifact.digest.parse().map_err(|cause| StorageError::Digest {
            path: name.clone(),
            cause,
        })?;
        let file = open_regular(&name).map_err(StorageError::file("read", name))?;
        Ok(VerifiedReader {
            hasher: Some(expected.algorithm().digester()),
            storage: self.clone(),
            path,
            file,
            expected,
        })
    }
}

/// Opens a regular file only: a pipe would block, a link could lead anywhere.
pub(crate) fn open_regular(path: &std::path::Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it is not a regular file"));
    }
    File::open(path)
}

/// The bytes of an artifact; see [`Storage::open`].
#[derive(Debug)]
pub struct VerifiedReader {
    storage: Storage,
    path: ArtifactPath,
    file: File,
    expected: Digest,
    /// None after a verified end.
    hasher: Option<Digester>,
}

impl VerifiedReader {
    /// Reads the rest, so that the whole file is checked.
    ///
    /// # Errors
    /// As reading: of kind `InvalidData` when the file is damaged.
    pub fn finish(mut self) -> io::Result<()> {
        let mut bytes = vec![0; 64 << 10];
        while self.read(&mut bytes)? > 0 {}
        Ok(())
    }

    fn end(&mut self, hasher: Digester) -> io::Result<()> {
        let digest = hasher.finish();
        if digest == self.expected {
            return Ok(());
        }
        let metadata = self.file.metadata()?;
        let damaged = self
            .storage
            .discard(&self.path, &Identity::of(&metadata), &self.expected, digest);
        Err(io::Error::new(io::ErrorKind::InvalidData, damaged))
    }
}

impl Read for VerifiedReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let number = self.file.read(bytes)?;
        if number > 0 {
            if let (Some(hasher), Some(read)) = (&mut self.hasher, bytes.get(..number)) {
                hasher.update(read);
            }
        } else if !bytes.is_empty()
            && let Some(hasher) = self.hasher.take()
        {
            let ended = self.end(hasher.clone());
            if ended.is_err() {
                // A repeated read repeats the error.
                self.hasher = Some(hasher);
            }
            ended?;
        }
        Ok(number)
    }
}
