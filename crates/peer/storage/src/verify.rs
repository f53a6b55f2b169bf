//! Verification of files: against the digest of a status, and before they are served.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

use crate::error::StorageError;
use crate::identity::Identity;
use crate::layout::ArtifactPath;
use crate::read::open_regular;
use crate::storage::{KnownFile, Storage};
use bumpwright_api::Artifact;
use bumpwright_artifact::{Algorithm, Digest};
use bumpwright_text::Parts;

#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) file: File,
    pub(crate) identity: Identity,
    pub(crate) digest: Digest,
}

impl Storage {
    /// Verifies the file of an artifact against its digest, by reading it unless it is unchanged since its last
    /// read (`VerifyArtifact`). From then on nothing else is served under its path.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] when it differs: it is then removed. [`StorageError::File`] when it cannot be read,
    /// see [`StorageError::is_absent`]; [`StorageError::Digest`] when the artifact has no digest.
    pub fn verify(&self, artifact: &Artifact) -> Result<(), StorageError> {
        let path = ArtifactPath::parse(&artifact.path)?;
        let expected: Digest = artifact.digest.parse().map_err(|cause| StorageError::Digest {
            path: path.below(&self.inner.settings.path),
            cause,
        })?;
        self.known().entry(path.clone()).or_default().expected = Some(expected);
        self.served(&path).map(drop)
    }

    /// Opens a file to serve, or the target of a link. A file without a known digest is served unchecked:
    /// the digest of its first read is taken for it.
    pub(crate) fn served(&self, path: &ArtifactPath) -> Result<Served, StorageError> {
        let target = self.followed(path)?;
        let path = target.as_ref().unwrap_or(path);
        match self.remembered(path)? {
            Some(served) => Ok(served),
            // Concurrent requests for a new file read it once.
            None => self
                .inner
                .checking
                .hold(&path.to_string(), || match self.remembered(path)? {
                    Some(served) => Ok(served),
                    None => self.examined(path),
                }),
        }
    }

    /// The target of a link, if it is a link; both are in one folder.
    fn followed(&self, path: &ArtifactPath) -> Result<Option<ArtifactPath>, StorageError> {
        let folder = self.real_folder(path.folder())?;
        let name = folder.join(path.file());
        let Ok(target) = fs::read_link(&name) else {
            return Ok(None);
        };
        let outside = || {
            let cause = io::Error::new(io::ErrorKind::NotFound, "it is a link that leads out of its folder");
            StorageError::file("read", name.clone())(cause)
        };
        // source-controller's links have the whole path.
        let is_beside = target
            .parent()
            .is_some_and(|parent| parent == Path::new("") || parent == folder);
        let file = target.file_name().and_then(|file| file.to_str()).filter(|_| is_beside);
        let target = file.and_then(|file| path.folder().file(file).ok());
        target.ok_or_else(outside).map(Some)
    }

    /// The file, if it is unchanged since its last read.
    fn remembered(&self, path: &ArtifactPath) -> Result<Option<Served>, StorageError> {
        let (file, identity) = self.opened(path)?;
        let known = self.known().get(path).cloned();
        let unchanged = known.and_then(|known| {
            let (seen, digest) = known.seen?;
            let is_expected = known.expected.is_none_or(|expected| expected == digest);
            (seen == identity && is_expected).then_some(digest)
        });
        Ok(unchanged.map(|digest| Served { file, identity, digest }))
    }

    /// Reads the file, and compares its digest with the expected one.
    fn examined(&self, path: &ArtifactPath) -> Result<Served, StorageError> {
        let name = path.below(&self.inner.settings.path);
        let expected = self.known().get(path).and_then(|known| known.expected.clone());
        let (file, identity) = self.opened(path)?;
        let algorithm = expected.as_ref().map(Digest::algorithm);
        let algorithm = algorithm.unwrap_or(self.inner.settings.algorithm);
        let digest = digest_of(&file, algorithm).map_err(StorageError::file("read", &name))?;
        if let Some(expected) = expected.filter(|expected| *expected != digest) {
            return Err(self.discard(path, &identity, &expected, digest));
        }
        // Not a file that changed while it was read, or that could change unnoticed.
        let after = file.metadata().map_err(StorageError::file("read", &name))?;
        if Identity::of(&after) == identity && identity.is_settled(SystemTime::now()) {
            let mut files = self.known();
            let files: &mut KnownFile = files.entry(path.clone()).or_default();
            files.expected.get_or_insert_with(|| digest.clone());
            files.seen = Some((identity, digest.clone()));
        }
        Ok(Served { file, identity, digest })
    }

    fn opened(&self, path: &ArtifactPath) -> Result<(File, Identity), StorageError> {
        let name = path.below(&self.inner.settings.path);
        let opened = open_regular(&name).and_then(|file| {
            let identity = Identity::of(&file.metadata()?);
            Ok((file, identity))
        });
        opened.map_err(|cause| {
            let error = StorageError::file("read", name)(cause);
            if error.is_absent() {
                self.forget(path);
            }
            error
        })
    }

    /// The error for a file without the wanted digest. It is removed if it is known to be damaged: it
    /// may also have been rewritten, while the caller has an older status.
    pub(crate) fn discard(
        &self,
        path: &ArtifactPath,
        examined: &Identity,
        wanted: &Digest,
        found: Digest,
    ) -> StorageError {
        let name = path.below(&self.inner.settings.path);
        let removed = self.inner.changing.hold(path.folder().as_str(), || {
            let expected = self.known().get(path).and_then(|known| known.expected.clone());
            let current = fs::symlink_metadata(&name).map(|metadata| Identity::of(&metadata));
            match (expected, current) {
                (Some(expected), Ok(current)) if expected != found && current.is_same_file(examined) => {
                    self.forget(path);
                    fs::remove_file(&name).map(|()| Some(expected))
                }
                _ => Ok(None),
            }
        });
        match removed {
            Ok(Some(expected)) => StorageError::Damaged {
                path: name,
                expected,
                found,
            },
            Ok(None) => StorageError::Replaced {
                path: name,
                wanted: wanted.clone(),
                found,
            },
            Err(cause) => StorageError::file("remove the damaged file", name)(cause),
        }
    }
}

/// The digest of a file from its beginning, whatever its position.
fn digest_of(file: &File, algorithm: Algorithm) -> io::Result<Digest> {
    let (mut hasher, mut bytes, mut offset) = (algorithm.digester(), vec![0; 256 << 10], 0);
    loop {
        match file.read_at(&mut bytes, offset) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(number) => {
                hasher.update(bytes.part(..number));
                offset += number as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::Retention;
    use crate::layout::Folder;
    use crate::storage::Settings;
    use crate::write::Metadata;

    #[test]
    fn a_file_is_read_again_only_if_it_changed() {
        let root = tempfile::tempdir().unwrap();
        let storage = Storage::new(Settings {
            path: root.path().to_owned(),
            host: String::new(),
            retention: Retention::default(),
            algorithm: Algorithm::default(),
            max_size: None,
            room: u64::MAX,
        });
        let storage = storage.unwrap();
        let folder = Folder::new("Bucket", "apps", "podinfo").unwrap();
        let artifact = storage.artifact(&folder, "a.tar.gz", "r").unwrap();
        let written = storage.write(&artifact, None, |into| {
            into.write_all(b"hello")?;
            Ok(Metadata::new())
        });
        let written = written.unwrap();
        let (path, name) = (
            ArtifactPath::parse(&written.path).unwrap(),
            root.path().join(&written.path),
        );
        // As if it had been read long after it was written, with another digest.
        let other: Digest = format!("sha256:{}", "0".repeat(64)).parse().unwrap();
        let identity = storage.served(&path).unwrap().identity;
        let known = KnownFile {
            expected: Some(other.clone()),
            seen: Some((identity, other.clone())),
        };
        storage.known().insert(path.clone(), known);
        assert_eq!(storage.served(&path).unwrap().digest, other);
        // No byte differs, but it was touched: it is read again, and then does not match.
        let file = File::options().write(true).open(&name).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(storage.served(&path), Err(StorageError::Damaged { .. })));
        assert!(!name.exists());
    }
}
