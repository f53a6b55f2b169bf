//! The files of the repository, and what a fleet needs besides them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::source::SourceObject;
use bumpwright_build::{FolderTree, GitTree};
use bumpwright_git::{ObjectId, Objects};
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError, World, path};

/// The files of a source, as its artifact has them.
pub trait Repository: Send + Sync {
    /// The files. Each thread opens its own tree.
    fn tree(&self) -> Box<dyn Tree + '_>;
}

/// What a fleet needs besides the files of its repository.
pub trait Outside: Sync {
    /// Remote bases of kustomizations. Each thread opens its own world.
    fn world(&self) -> Box<dyn World + '_>;

    /// The files of a source other than the repository.
    ///
    /// # Errors
    /// The source is not available; for users.
    fn source(&self, source: &SourceObject) -> Result<Arc<dyn Repository>, String>;
}

impl Repository for FolderTree {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(Borrowed(self))
    }
}

/// The files of a commit, among the objects of a mirror.
pub struct GitFiles {
    /// Each thread has its own handle.
    objects: Mutex<Objects>,
    tree: ObjectId,
}

impl GitFiles {
    /// The files below this tree.
    #[must_use]
    pub fn new(objects: Objects, tree: ObjectId) -> Self {
        Self {
            objects: Mutex::new(objects),
            tree,
        }
    }
}

impl Repository for GitFiles {
    fn tree(&self) -> Box<dyn Tree + '_> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::new(GitTree::new(objects, self.tree))
    }
}

/// A tree that several threads read.
struct Borrowed<'t>(&'t dyn Tree);

impl Tree for Borrowed<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        self.0.read(path)
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        self.0.canonical(path)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        self.0.list(directory)
    }

    fn on_disk(&self, path: &str) -> Result<PathBuf, TreeError> {
        self.0.on_disk(path)
    }

    fn name(&self) -> Option<String> {
        self.0.name()
    }
}

/// The paths that a build has looked at: it gives the same again unless one of them changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Files that were read, and paths that were looked up, whether they exist or not.
    paths: BTreeSet<Box<str>>,
    /// Directories that were listed.
    listed: BTreeSet<Box<str>>,
}

impl Reads {
    /// Whether a change at `changed`, a path from the root without a leading slash, may change the build.
    #[must_use]
    pub fn is_affected_by(&self, changed: &str) -> bool {
        let changed = format!("/{}", changed.trim_start_matches('/'));
        self.paths.contains(changed.as_str()) || self.listed.contains(path::parent(&changed))
    }

    /// Whether a file was looked at: a path from the root without a leading slash.
    #[must_use]
    pub fn contains(&self, file: &str) -> bool {
        self.paths
            .contains(format!("/{}", file.trim_start_matches('/')).as_str())
    }

    /// The paths that were looked at, without a leading slash.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|path| path.trim_start_matches('/'))
    }
}

/// A tree that keeps what is read from it.
pub(super) struct Recorder<'t> {
    tree: &'t dyn Tree,
    reads: RefCell<Reads>,
}

impl<'t> Recorder<'t> {
    pub(super) fn new(tree: &'t dyn Tree) -> Self {
        Self {
            tree,
            reads: RefCell::default(),
        }
    }

    pub(super) fn into_reads(self) -> Reads {
        self.reads.into_inner()
    }

    fn record(&self, path: &str) {
        let mut reads = self.reads.borrow_mut();
        if !reads.paths.contains(path) {
            reads.paths.insert(path.into());
        }
    }
}

impl Tree for Recorder<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        self.record(path);
        self.tree.read(path)
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        self.record(path);
        self.tree.canonical(path)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        self.reads.borrow_mut().listed.insert(directory.into());
        self.tree.list(directory)
    }

    fn on_disk(&self, path: &str) -> Result<PathBuf, TreeError> {
        self.tree.on_disk(path)
    }

    /// Paths in errors begin at the root.
    fn name(&self) -> Option<String> {
        Some(".".to_owned())
    }
}

/// A repository with other bytes in some files, as a commit would have it. Paths have no leading slash.
pub struct Changed<'r> {
    /// The repository before.
    pub repository: &'r dyn Repository,
    /// The new bytes by path.
    pub files: std::collections::BTreeMap<String, Vec<u8>>,
}

impl Repository for Changed<'_> {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(ChangedTree {
            tree: self.repository.tree(),
            files: &self.files,
        })
    }
}

struct ChangedTree<'t> {
    tree: Box<dyn Tree + 't>,
    files: &'t std::collections::BTreeMap<String, Vec<u8>>,
}

impl Tree for ChangedTree<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        // Links lead to the file that changed.
        let found = self.tree.canonical(path)?;
        match self.files.get(found.path.trim_start_matches('/')) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => self.tree.read(path),
        }
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        self.tree.canonical(path)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        self.tree.list(directory)
    }

    fn name(&self) -> Option<String> {
        self.tree.name()
    }
}
