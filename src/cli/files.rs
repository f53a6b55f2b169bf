//! The input files of `migrate`: named ones, and the YAML and JSON files of named folders.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use bumpwright_edit::{FileKind, YAML_LIMIT, file_kind};

/// Files in the order of their names, each once; and read errors, in words for the user.
#[derive(Debug, Default)]
pub struct ManifestFiles {
    /// Path as named, and content.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Read errors.
    pub faults: Vec<String>,
    seen: HashSet<PathBuf>,
}

/// Finds and reads all files.
pub fn find(paths: &[PathBuf]) -> ManifestFiles {
    let mut found = ManifestFiles::default();
    for path in paths {
        if let Err(error) = found.named(path) {
            found.fault(path, &error.to_string());
        }
    }
    found
}

impl ManifestFiles {
    fn fault(&mut self, path: &Path, why: &str) {
        self.faults.push(format!("{}: {why}", path.display()));
    }

    /// A path named by the user: links are followed.
    fn named(&mut self, path: &Path) -> std::io::Result<()> {
        let real = fs::canonicalize(path)?;
        if real.is_dir() {
            self.folder(path)
        } else {
            let link = fs::symlink_metadata(path)?.is_symlink();
            self.file(if link { &real } else { path })
        }
    }

    /// All files below a folder. Links, Git's own folders and the roots of other repositories are left alone.
    fn folder(&mut self, path: &Path) -> std::io::Result<()> {
        let mut below = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<Result<Vec<_>, _>>()?;
        below.sort();
        for name in below.iter().filter(|name| *name != ".git") {
            let child = match path {
                here if here == Path::new(".") => PathBuf::from(name),
                folder => folder.join(name),
            };
            if let Err(error) = self.below(&child) {
                self.fault(&child, &error.to_string());
            }
        }
        Ok(())
    }

    fn below(&mut self, path: &Path) -> std::io::Result<()> {
        let meta = fs::symlink_metadata(path)?;
        if meta.is_dir() && !path.join(".git").exists() {
            return self.folder(path);
        }
        let is_manifest = || {
            let path = path.to_string_lossy();
            file_kind(&path) == FileKind::Yaml || path.ends_with(".json")
        };
        match meta.is_file() && is_manifest() {
            true => self.file(path),
            false => Ok(()),
        }
    }

    fn file(&mut self, path: &Path) -> std::io::Result<()> {
        if !self.seen.insert(fs::canonicalize(path)?) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(YAML_LIMIT).unwrap_or(u64::MAX);
        fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
        match bytes.len() > YAML_LIMIT {
            true => self.fault(path, "larger than 32 MiB, which no manifest is; not looked at"),
            false => self.files.push((path.to_owned(), bytes)),
        }
        Ok(())
    }
}
