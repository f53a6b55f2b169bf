//! What a build reads: a tree of files, and through it the directories and files that kustomizations name.
//!
//! - [`Tree`]: the files; [`MemoryTree`] is one in memory, a checkout or an artifact can be others.
//! - [`Loader`]: how one kustomization sees files: relative to its directory, held below it by [`LoadRestrictions`],
//!   with the kustomizations that led to it, so that a cycle is found.
//! - [`RepoUrl`]: the spellings of Git repositories that stand where a directory may.
//! - [`World`]: what a tree does not have: repositories, files behind URLs, programs. [`Sealed`] has none of it.

mod loader;
mod memory;
pub mod path;
mod repo_url;
mod world;

pub use loader::{LoadError, LoadRestrictions, Loader};
pub use memory::MemoryTree;
pub use repo_url::{RepoUrl, RepoUrlError, public_url};
pub use world::{Argument, Command, PluginFile, Sealed, World, WorldError};

use std::borrow::Cow;
use std::path::PathBuf;

/// Files and directories below `/`. All paths given are absolute and clean (see [`path::clean`]).
pub trait Tree {
    /// The bytes of a file, symbolic links followed.
    ///
    /// # Errors
    ///
    /// What is there is no file, or nothing is there.
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError>;

    /// The path without symbolic links, and what is there.
    ///
    /// # Errors
    ///
    /// Nothing is there, or links go in circles.
    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError>;

    /// The names in a directory, sorted.
    ///
    /// # Errors
    ///
    /// What is there is no directory, or nothing is there.
    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError>;

    /// Where a path is on this machine's disk, for a program that is to run there. A tree that is not on a disk may write
    /// itself to one.
    ///
    /// # Errors
    ///
    /// The tree is on no disk.
    fn on_disk(&self, path: &str) -> Result<PathBuf, TreeError> {
        Err(TreeError::Other(path.to_owned(), "is not on a disk".to_owned()))
    }

    /// How whoever reads messages calls the root, where it has a name of its own.
    fn name(&self) -> Option<String> {
        None
    }
}

/// What [`Tree::canonical`] finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The path without symbolic links.
    pub path: String,
    /// Whether it is a directory.
    pub directory: bool,
}

/// What a tree does not give.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Nothing is at the path.
    #[error("{0}: no such file or directory")]
    Missing(String),
    /// A directory is where a file is needed.
    #[error("{0}: is a directory, not a file")]
    Directory(String),
    /// A file is where a directory is needed.
    #[error("{0}: is a file, not a directory")]
    File(String),
    /// Links lead to each other.
    #[error("{0}: too many symbolic links; they lead in a circle")]
    Circle(String),
    /// Another failure, as the tree tells it.
    #[error("{0}: {1}")]
    Other(String, String),
}
