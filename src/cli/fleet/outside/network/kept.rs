//! Artifacts of registries, kept on disk: what has a digest never changes.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::cli::places;
use bumpwright_registry::{Image, Layer};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

/// The most bytes of layers that are kept. Those beyond are removed, the one that was not used for longest first.
const MOST: u64 = 1 << 30;

/// The largest layer that is kept, in bytes.
const LARGEST: u64 = MOST / 8;

/// The artifacts of the user's cache folder. Without one, all are fetched each time.
pub(super) struct Kept {
    folder: Option<PathBuf>,
    most: u64,
}

impl Kept {
    pub(super) fn of_user() -> Self {
        Self {
            folder: places::cache().ok().map(|cache| cache.join("artifacts")),
            most: MOST,
        }
    }

    /// The digest that a reference had when it was last asked for.
    pub(super) fn digest(&self, reference: &str) -> Option<String> {
        fs::read_to_string(self.place("references", reference)?).ok()
    }

    pub(super) fn keep_digest(&self, reference: &str, digest: &str) {
        self.keep("references", reference, digest.as_bytes());
    }

    /// The image of a digest.
    pub(super) fn image(&self, digest: &str) -> Option<Image> {
        let bytes = fs::read(self.place("images", digest)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    pub(super) fn keep_image(&self, digest: &str, image: &Image) {
        if let Ok(text) = serde_json::to_vec(image) {
            self.keep("images", digest, &text);
        }
    }

    /// The bytes of a layer.
    pub(super) fn layer(&self, layer: &Layer) -> Option<File> {
        let file = File::open(self.place("layers", &layer.digest)?).ok()?;
        // The time of its last use. A read-only folder has no need of it.
        drop(file.set_modified(SystemTime::now()));
        Some(file)
    }

    /// A file for a layer; none for one that is not kept.
    pub(super) fn room_for(&self, layer: &Layer) -> Option<NamedTempFile> {
        let place = self.place("layers", &layer.digest)?;
        (layer.size <= LARGEST.min(self.most)).then(|| places::file_beside(&place).ok())?
    }

    /// Fills the file with a layer, which ends only when its digest is right, and keeps it.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub(super) fn keep_layer(&self, layer: &Layer, mut file: NamedTempFile, mut from: impl Read) -> io::Result<File> {
        io::copy(&mut from, &mut file)?;
        let place = self.place("layers", &layer.digest).ok_or(io::ErrorKind::NotFound)?;
        let mut file = file.persist(&place)?;
        if let Some(folder) = place.parent() {
            // What cannot be removed now is removed another time.
            drop(remove_oldest(folder, self.most));
        }
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    fn place(&self, kind: &str, name: &str) -> Option<PathBuf> {
        let digest = Sha256::digest(name);
        let file: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.folder.as_ref()?.join(kind).join(file))
    }

    fn keep(&self, kind: &str, name: &str, bytes: &[u8]) {
        if let Some(place) = self.place(kind, name) {
            places::keep(&place, bytes);
        }
    }
}

/// Removes files of a folder until they have at most so many bytes.
fn remove_oldest(folder: &Path, most: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        files.push((metadata.modified()?, metadata.len(), entry.path()));
    }
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    files.sort();
    for (_, size, path) in files {
        if total <= most {
            break;
        }
        fs::remove_file(path)?;
        total -= size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(digest: &str, size: u64) -> Layer {
        Layer {
            digest: digest.to_owned(),
            size,
            ..Layer::default()
        }
    }

    fn text(mut file: File) -> io::Result<String> {
        let mut text = String::new();
        file.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn layers_are_kept_within_the_bound() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let kept = Kept {
            folder: Some(folder.path().to_owned()),
            most: 11,
        };
        for digest in ["sha256:a", "sha256:../b", "sha256:c"] {
            let layer = layer(digest, 4);
            let file = kept.room_for(&layer).ok_or(io::ErrorKind::NotFound)?;
            let file = kept.keep_layer(
                &layer,
                file,
                digest.get(7..).map_or(&b""[..], str::as_bytes).chain(&b"..."[..]),
            )?;
            assert!(text(file)?.ends_with("..."));
        }
        assert!(kept.room_for(&layer("sha256:d", 12)).is_none());
        assert!(kept.layer(&layer("sha256:c", 4)).is_some());
        let left = ["sha256:a", "sha256:../b"].map(|digest| kept.layer(&layer(digest, 4)).is_some());
        assert_eq!(left, [false, true]);
        Ok(())
    }

    #[test]
    fn a_layer_that_is_cut_off_is_not_kept() -> io::Result<()> {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
        let folder = tempfile::tempdir()?;
        let kept = Kept {
            folder: Some(folder.path().to_owned()),
            most: MOST,
        };
        let layer = layer("sha256:a", 4);
        let file = kept.room_for(&layer).ok_or(io::ErrorKind::NotFound)?;
        assert!(kept.keep_layer(&layer, file, b"ab".chain(Broken)).is_err());
        assert!(kept.layer(&layer).is_none());
        assert_eq!(fs::read_dir(folder.path().join("layers"))?.count(), 0);
        Ok(())
    }
}
