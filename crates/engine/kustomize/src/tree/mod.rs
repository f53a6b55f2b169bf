//! The input of a build: a tree of files, and through it the directories and files that kustomizations name.
//!
//! - [`Tree`]: the files; [`MemoryTree`] is one in memory, a checkout or an artifact can be others.
//! - [`Loader`]: a kustomization's view of files: relative to its directory, restricted by [`LoadRestrictions`],
//!   with the kustomizations that led to it, so that a cycle is found.
//! - [`RepoUrl`]: URLs of Git repositories in place of a directory.
//! - [`World`]: what is outside of a tree: repositories, files behind URLs, programs. [`Sealed`] has none of it.

mod loader;
mod memory;
pub mod path;
mod repo_url;
mod world;

pub use loader::{LoadError, LoadRestrictions, Loader};
pub use memory::MemoryTree;
pub use repo_url::{RepoUrl, RepoUrlError, public_url};
pub use world::{Argument, Command, PluginFile, RemoteChart, Sealed, World, WorldError};

use std::borrow::Cow;
use std::path::PathBuf;

/// Files and directories below `/`. All paths given are absolute and clean (see [`path::clean`]).
pub trait Tree {
    /// The content of a file, symbolic links followed.
    ///
    /// # Errors
    ///
    /// The path does not exist or is not a file.
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError>;

    /// The path with symbolic links resolved, and whether it is a directory.
    ///
    /// # Errors
    ///
    /// The path does not exist, or links go in circles.
    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError>;

    /// The names in a directory, sorted.
    ///
    /// # Errors
    ///
    /// The path does not exist or is not a directory.
    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError>;

    /// The path on this machine's disk, for a program to run there. A tree that is not on a disk may
    /// write itself to one.
    ///
    /// # Errors
    ///
    /// The tree is not on a disk.
    fn on_disk(&self, path: &str) -> Result<PathBuf, TreeError> {
        Err(TreeError::Other(path.to_owned(), "is not on a disk".to_owned()))
    }

    /// The name of the root in messages, where it has one of its own.
    fn name(&self) -> Option<String> {
        None
    }
}

/// The result of [`Tree::canonical`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The path with symbolic links resolved.
    pub path: String,
    /// Whether it is a directory.
    pub directory: bool,
}

/// An error of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The path does not exist.
    #[error("{0}: no such file or directory")]
    Missing(String),
    /// A directory is where a file is needed.
    #[error("{0}: is a directory, not a file")]
    Directory(String),
    /// A file is where a directory is needed.
    #[error("{0}: is a file, not a directory")]
    File(String),
    /// Links form a cycle.
    #[error("{0}: too many symbolic links; they lead in a circle")]
    Circle(String),
    /// Another failure, in the tree's words.
    #[error("{0}: {1}")]
    Other(String, String),
}
