//! The names in an artifact, and where each file's content is.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_kustomize::tree::{ResolvedPath, TreeError, path};

/// The files and directories of an artifact, which has no links. `C` says where the content of a file is. Paths
/// are absolute and clean.
#[derive(Clone, Debug)]
pub struct Names<C> {
    files: BTreeMap<String, C>,
    /// The entries of each directory.
    directories: BTreeMap<String, BTreeSet<String>>,
}

impl<C> Default for Names<C> {
    fn default() -> Self {
        Self {
            files: BTreeMap::new(),
            directories: BTreeMap::from([("/".to_owned(), BTreeSet::new())]),
        }
    }
}

impl<C> Names<C> {
    /// Adds a directory, with those above it.
    pub fn add_directory(&mut self, path: &str) {
        if self.directories.contains_key(path) {
            return;
        }
        self.directories.insert(path.to_owned(), BTreeSet::new());
        self.link(path);
    }

    /// Adds a file, with the directories above it. It replaces a file of the same path.
    pub fn add_file(&mut self, path: &str, content: C) {
        self.link(path);
        self.files.insert(path.to_owned(), content);
    }

    fn link(&mut self, path: &str) {
        let parent = path::parent(path);
        self.add_directory(parent);
        let names = self.directories.entry(parent.to_owned()).or_default();
        names.insert(path::base(path).to_owned());
    }

    /// The content of a file.
    ///
    /// # Errors
    /// The path does not exist or is not a file.
    pub fn file(&self, path: &str) -> Result<&C, TreeError> {
        match self.files.get(path) {
            Some(content) => Ok(content),
            None if self.directories.contains_key(path) => Err(TreeError::Directory(path.to_owned())),
            None => Err(self.missing(path)),
        }
    }

    /// All files, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &C)> {
        self.files.iter().map(|(path, content)| (path.as_str(), content))
    }

    /// All directories but the root, by path.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        let paths = self.directories.keys().map(String::as_str);
        paths.filter(|path| *path != "/")
    }

    /// As [`bumpwright_kustomize::tree::Tree::canonical`]
    ///
    /// # Errors
    /// The path does not exist.
    pub fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        let directory = self.directories.contains_key(path);
        if directory || self.files.contains_key(path) {
            Ok(ResolvedPath {
                path: path.to_owned(),
                directory,
            })
        } else {
            Err(self.missing(path))
        }
    }

    /// As [`bumpwright_kustomize::tree::Tree::list`]
    ///
    /// # Errors
    /// The path does not exist or is not a directory.
    pub fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        match self.directories.get(directory) {
            Some(names) => Ok(names.iter().cloned().collect()),
            None if self.files.contains_key(directory) => Err(TreeError::File(directory.to_owned())),
            None => Err(TreeError::Missing(directory.to_owned())),
        }
    }

    fn missing(&self, path: &str) -> TreeError {
        let mut above = path::parent(path);
        while above != "/" && above != "." {
            if self.files.contains_key(above) {
                return TreeError::File(path.to_owned());
            }
            above = path::parent(above);
        }
        TreeError::Missing(path.to_owned())
    }
}
