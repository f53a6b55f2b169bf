//! The files of the repository, and what a fleet needs besides them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::source::SourceObject;
use bumpwright_build::FolderTree;
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError, World, path};

/// The files of a source, as its artifact has them.
pub trait Repository: Send + Sync {
    /// The files. Each thread opens its own tree.
    fn tree(&self) -> Box<dyn Tree + '_>;

    /// The same with the `spec.ignore` of a source.
    ///
    /// # Errors
    /// The files cannot be listed again; for users.
    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, String>;

    /// The paths of the fleet's repository that a path, which need not exist, comes from; none for files from elsewhere.
    fn origins(&self, path: &str) -> Vec<String> {
        let _ = path;
        Vec::new()
    }
}

/// What a fleet needs besides the files of its repository.
pub trait Outside: Sync {
    /// Remote bases of kustomizations. Each thread opens its own world.
    fn world(&self) -> Box<dyn World + '_>;

    /// The files of a source other than the repository. `objects` are the Secrets and ServiceAccounts of its namespace. It is called from
    /// several threads, and has to return in bounded time.
    ///
    /// # Errors
    /// The source is not available; for users.
    fn source(&self, source: &SourceObject, objects: &[Value]) -> Result<Arc<dyn Repository>, String>;
}

impl<R: Repository + ?Sized> Repository for Arc<R> {
    fn tree(&self) -> Box<dyn Tree + '_> {
        (**self).tree()
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, String> {
        (**self).ignoring(ignore)
    }

    fn origins(&self, path: &str) -> Vec<String> {
        (**self).origins(path)
    }
}

impl Repository for FolderTree {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(Borrowed(self))
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, String> {
        let files = Self::ignoring(self.root(), Some(ignore));
        Ok(Box::new(files.map_err(|error| error.to_string())?))
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

    /// The same in the fleet's repository, for a build from files that were copied from it.
    pub(super) fn translated(&self, files: &dyn Repository) -> Self {
        let translate = |paths: &BTreeSet<Box<str>>| {
            let origins = paths.iter().flat_map(|path| files.origins(path));
            origins.map(String::into_boxed_str).collect()
        };
        Self {
            paths: translate(&self.paths),
            listed: translate(&self.listed),
        }
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
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Repository for Changed<'_> {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(ChangedTree {
            tree: self.repository.tree(),
            files: &self.files,
        })
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, String> {
        Ok(Box::new(ChangedIgnoring {
            repository: self.repository.ignoring(ignore)?,
            files: &self.files,
        }))
    }
}

/// The same with other ignore rules.
struct ChangedIgnoring<'r> {
    repository: Box<dyn Repository + 'r>,
    files: &'r BTreeMap<String, Vec<u8>>,
}

impl Repository for ChangedIgnoring<'_> {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(ChangedTree {
            tree: self.repository.tree(),
            files: self.files,
        })
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, String> {
        Ok(Box::new(ChangedIgnoring {
            repository: self.repository.ignoring(ignore)?,
            files: self.files,
        }))
    }
}

struct ChangedTree<'t> {
    tree: Box<dyn Tree + 't>,
    files: &'t BTreeMap<String, Vec<u8>>,
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
