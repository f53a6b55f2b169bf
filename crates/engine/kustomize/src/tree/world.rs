//! What lies outside of the tree: repositories, files behind URLs, programs.
//!
//! The engine asks and never reaches out itself, so a build without a world touches nothing but its tree.

use super::{RepoUrl, Tree, public_url};
use std::sync::Arc;

/// What a build may ask for besides its tree.
pub trait World {
    /// The files of a repository at the reference that the URL names, with `/` as its root.
    ///
    /// # Errors
    ///
    /// It cannot be had.
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError>;

    /// The bytes behind an `http` or `https` URL.
    ///
    /// # Errors
    ///
    /// It cannot be had.
    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError>;

    /// Where the plugin of a group, version and kind is installed.
    fn plugin(&self, group: &str, version: &str, kind: &str) -> PluginFile;

    /// Runs a program and gives what it wrote to its standard output.
    ///
    /// # Errors
    ///
    /// It cannot be started, or ended with a failure: with what it wrote to its standard error.
    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError>;
}

/// A program to run.
#[derive(Clone, Copy)]
pub struct Command<'a> {
    /// The program: a path, or a name to look up.
    pub program: &'a str,
    /// Its arguments.
    pub arguments: &'a [Argument],
    /// Variables to add to its environment.
    pub environment: &'a [(String, String)],
    /// The tree that `directory` is in.
    pub tree: &'a dyn Tree,
    /// The directory to run in: that of the kustomization.
    pub directory: &'a str,
    /// What it reads from its standard input.
    pub input: &'a [u8],
}

/// An argument of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// Text.
    Text(String),
    /// The path of a temporary file with these bytes.
    File(Vec<u8>),
}

/// What is installed for a kind of plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginFile {
    /// A program, at this path.
    Program(String),
    /// A file at this path that may not be executed.
    NotExecutable(String),
    /// A Go plugin, at this path.
    Go(String),
    /// Nothing; the path where a program would be looked for.
    Absent(String),
    /// Nothing, wherever it were; why, with the way out if there is one.
    Impossible(String),
}

/// What the world does not give.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// This build has no such world.
    #[error("{0} is not available in this build")]
    Sealed(String),
    /// A server answered with a failure.
    #[error("HTTP status {0}")]
    Status(u16),
    /// A program failed; with what it said.
    #[error("{0}")]
    Program(String),
    /// Another failure, as the world tells it.
    #[error("{0}")]
    Other(String),
}

/// A world of nothing: every question is an error.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sealed;

impl World for Sealed {
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        Err(WorldError::Sealed(format!(
            "the repository {}",
            public_url(&url.clone_url())
        )))
    }

    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        Err(WorldError::Sealed(format!("the remote file {}", public_url(url))))
    }

    fn plugin(&self, _: &str, _: &str, _: &str) -> PluginFile {
        PluginFile::Impossible("this build runs none".to_owned())
    }

    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        Err(WorldError::Sealed(format!("the program {}", command.program)))
    }
}
