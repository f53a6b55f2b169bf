//! A local folder as the artifact that a source would make of it: the same files excluded, and no links.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::bounded;
use super::names::Names;
use bumpwright_artifact::{IgnoreFile, IgnoreRules, Verdict};
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError};

/// The names in an artifact of the folder; file contents are read on demand.
#[derive(Debug)]
pub struct FolderTree {
    root: PathBuf,
    names: Names<()>,
}

/// A folder that cannot be walked.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", .path.display())]
pub struct FolderError {
    path: PathBuf,
    error: io::Error,
}

impl FolderTree {
    /// The tree of a folder, without the files that its `.sourceignore` files, or the default patterns, exclude.
    ///
    /// # Errors
    /// A folder or a `.sourceignore` cannot be read.
    pub fn new(root: &Path) -> Result<Self, FolderError> {
        Self::ignoring(root, None)
    }

    /// The same with the `spec.ignore` of its source.
    pub fn ignoring(root: &Path, ignore: Option<&str>) -> Result<Self, FolderError> {
        let mut walked = Walked::default();
        walked.walk(root, "")?;
        let ignores = walked.ignores.iter().map(|(directory, text)| IgnoreFile {
            directory: directory.as_bytes(),
            text,
        });
        let rules = IgnoreRules::of_tree(ignores, ignore);
        let is_included = |path: &str, is_directory| {
            let components: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
            rules.verdict(&components, is_directory) == Verdict::Kept
        };
        let mut names = Names::default();
        for path in walked.directories.iter().filter(|path| is_included(path, true)) {
            names.add_directory(&format!("/{path}"));
        }
        for path in walked.files.iter().filter(|path| is_included(path, false)) {
            names.add_file(&format!("/{path}"), ());
        }
        Ok(Self {
            root: root.to_owned(),
            names,
        })
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl Tree for FolderTree {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        self.names.file(path)?;
        let failed = |error: io::Error| TreeError::Other(path.to_owned(), error.to_string());
        let file = fs::File::open(self.root.join(path.trim_start_matches('/'))).map_err(failed)?;
        bounded(&file, path).map(Cow::Owned)
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        self.names.canonical(path)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        self.names.list(directory)
    }

    fn name(&self) -> Option<String> {
        Some(self.root.display().to_string())
    }
}

/// The entries on disk, by paths without a leading slash.
#[derive(Default)]
struct Walked {
    files: Vec<String>,
    directories: Vec<String>,
    /// The `.sourceignore` of each directory that has one.
    ignores: Vec<(String, Vec<u8>)>,
}

impl Walked {
    fn walk(&mut self, folder: &Path, path: &str) -> Result<(), FolderError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |error| FolderError { path, error }
        };
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let entry = entry.map_err(failed(folder))?;
            let kind = entry.file_type().map_err(failed(&entry.path()))?;
            // A kustomization cannot name files whose names are not UTF-8.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let below = match path {
                "" => name.clone(),
                path => format!("{path}/{name}"),
            };
            if kind.is_dir() {
                if name != ".git" {
                    self.walk(&entry.path(), &below)?;
                    self.directories.push(below);
                }
            } else if kind.is_file() {
                if name == IgnoreRules::FILE_NAME {
                    let text = fs::read(entry.path()).map_err(failed(&entry.path()))?;
                    self.ignores.push((path.to_owned(), text));
                }
                self.files.push(below);
            }
        }
        Ok(())
    }
}
