//! The files of the repository, and what a fleet needs besides them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::copied::Lent;
use super::error::SourceError;
use super::meant::SourceObject;
use bumpwright_api::ObjectName;
use bumpwright_build::FolderTree;
use bumpwright_helm::Chart;
use bumpwright_kustomize::tree::{MemoryTree, ResolvedPath, Tree, TreeError, World};

/// Why a release has no chart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// It cannot be had here, though it may exist.
    #[error("{0}")]
    Unavailable(String),
    /// It does not exist, or is not valid.
    #[error("{0}")]
    Broken(String),
}

/// A chart of a HelmRepository.
#[derive(Clone, Debug, PartialEq)]
pub struct RepositoryChart {
    /// The HelmRepository, with its object.
    pub repository: SourceObject,
    /// The name of the chart.
    pub name: String,
    /// A version or a range; empty for the newest one.
    pub version: String,
}

/// The files of a source, as its artifact has them.
pub trait Repository: Send + Sync {
    /// The files. Each thread opens its own tree.
    fn tree(&self) -> Box<dyn Tree + '_>;

    /// The same with the `spec.ignore` of a source.
    ///
    /// # Errors
    /// The files cannot be listed again.
    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError>;

    /// The paths of the fleet's repository that a path, which need not exist, comes from; none
    /// for files from elsewhere.
    fn origins(&self, path: &str) -> Vec<String> {
        let _ = path;
        Vec::new()
    }

    /// The path of the fleet's repository whose bytes a file has; none for files from elsewhere and for those that
    /// are made of several.
    fn copied_from(&self, path: &str) -> Option<String> {
        let _ = path;
        None
    }
}

/// What a fleet needs besides the files of its repository.
pub trait Outside: Sync {
    /// Remote bases of kustomizations. Each thread opens its own world.
    fn world(&self) -> Box<dyn World + '_>;

    /// The files of a source other than the repository. `objects` are the Secrets and ServiceAccounts of its namespace.
    /// It is called from several threads, and has to return in bounded time.
    ///
    /// # Errors
    /// The source is not available.
    fn source(&self, source: &SourceObject, objects: &[Value]) -> Result<Arc<dyn Repository>, Arc<SourceError>>;

    /// An object of `source.toolkit.fluxcd.io` that the fleet does not have, and the cluster has.
    fn object(&self, kind: &str, name: &ObjectName) -> Option<Value> {
        let _ = (kind, name);
        None
    }

    /// Whether the files of a source are those of its artifact: with what it includes of others, and as an
    /// ArtifactGenerator has made them.
    fn has_artifacts(&self) -> bool {
        false
    }

    /// A chart of a HelmRepository, which the fleet need not have. `objects` are the Secrets of its namespace; nobody
    /// waits after `until`. As [`Outside::source`], it is called from several threads.
    ///
    /// # Errors
    /// The chart cannot be had; for users.
    fn chart(
        &self,
        chart: &RepositoryChart,
        objects: &[Value],
        until: Option<Instant>,
    ) -> Result<Arc<Chart>, ChartError> {
        let _ = (objects, until);
        let shown = chart.repository.shown();
        Err(ChartError::Unavailable(match chart.repository.object {
            Some(_) => format!("charts of {shown} are not fetched here"),
            None => format!("{shown} is not in the fleet"),
        }))
    }

    /// The chart that an OCIRepository has, which the fleet need not have, where it is had as such; none where the
    /// files of the source are fetched for it. As [`Outside::chart`].
    fn image(
        &self,
        source: &SourceObject,
        objects: &[Value],
        until: Option<Instant>,
    ) -> Option<Result<Arc<Chart>, ChartError>> {
        let _ = (source, objects, until);
        None
    }
}

impl<R: Repository + ?Sized> Repository for Arc<R> {
    fn tree(&self) -> Box<dyn Tree + '_> {
        (**self).tree()
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        (**self).ignoring(ignore)
    }

    fn origins(&self, path: &str) -> Vec<String> {
        (**self).origins(path)
    }

    fn copied_from(&self, path: &str) -> Option<String> {
        (**self).copied_from(path)
    }
}

impl Repository for FolderTree {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(Borrowed(self))
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        Ok(Box::new(Self::ignoring(self.root(), Some(ignore))?))
    }
}

/// The files of an artifact: what its source ignores is not among them.
impl Repository for MemoryTree {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(Borrowed(self))
    }

    fn ignoring(&self, _: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        Ok(Box::new(Lent(self)))
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

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
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

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
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
        let canonical = self.tree.canonical(path)?;
        match self.files.get(canonical.path.trim_start_matches('/')) {
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
