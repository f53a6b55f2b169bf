//! The local file system as a tree.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError};

/// A larger file is taken for a mistake: the API server accepts objects of a megabyte and a half.
pub(super) const LARGEST: u64 = 256 << 20;

/// The local file system, from `/` on.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskTree;

impl Tree for DiskTree {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        let failed = |error: io::Error| told(path, &error);
        let file = fs::File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(TreeError::Directory(path.to_owned()));
        }
        bounded(&file, path).map(Cow::Owned)
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        let canonical = fs::canonicalize(path).map_err(|error| told(path, &error))?;
        let directory = canonical.is_dir();
        let path = canonical.into_os_string().into_string().map_err(|canonical| {
            let shown = canonical.to_string_lossy().into_owned();
            TreeError::Other(shown, "its name is not UTF-8".to_owned())
        })?;
        Ok(ResolvedPath { path, directory })
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        let failed = |error: io::Error| told(directory, &error);
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            // A kustomization cannot name files whose names are not UTF-8.
            names.extend(entry.map_err(failed)?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    fn on_disk(&self, path: &str) -> Result<PathBuf, TreeError> {
        Ok(Path::new(path).to_owned())
    }
}

/// The bytes of a file, unless it is larger than any manifest. Errors name it `path`.
pub(super) fn bounded(file: &fs::File, path: &str) -> Result<Vec<u8>, TreeError> {
    let length = file.metadata().map_or(0, |meta| meta.len().min(LARGEST));
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| told(path, &error))?;
    if bytes.len() as u64 > LARGEST {
        Err(TreeError::Other(path.to_owned(), "is larger than 256 MiB".to_owned()))
    } else {
        Ok(bytes)
    }
}

fn told(path: &str, error: &io::Error) -> TreeError {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::NotFound => TreeError::Missing(path),
        ErrorKind::NotADirectory => TreeError::File(path),
        ErrorKind::IsADirectory => TreeError::Directory(path),
        // ELOOP has no stable kind of its own.
        _ if error.to_string().contains("symbolic links") => TreeError::Circle(path),
        _ => TreeError::Other(path, error.to_string()),
    }
}
