//! What lies outside of the tree: repositories, files behind URLs, programs.
//!
//! The engine itself has no network and starts no processes: a build with a [`Sealed`] world touches only its tree.

use super::{RepoUrl, Tree, public_url};
use std::sync::Arc;

/// What a build may need besides its tree.
pub trait World {
    /// The files of a repository at the reference that the URL names, with `/` as its root.
    ///
    /// # Errors
    ///
    /// The repository is not available.
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError>;

    /// The content of an `http` or `https` URL.
    ///
    /// # Errors
    ///
    /// The file is not available.
    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError>;

    /// The installed plugin of a group, version and kind.
    fn plugin(&self, group: &str, version: &str, kind: &str) -> PluginFile;

    /// The archive of a chart that is not in the tree.
    ///
    /// # Errors
    ///
    /// The chart is not available.
    fn chart(&self, chart: &RemoteChart<'_>) -> Result<Vec<u8>, WorldError> {
        Err(WorldError::Other(format!(
            "charts are not fetched here: put {} into the folder of charts",
            chart.name
        )))
    }

    /// Clock and random numbers for the functions of charts; without any, equal charts and values give equal objects.
    fn chance(&self) -> Option<&dyn bumpwright_template::World> {
        None
    }

    /// Runs a program and returns its standard output.
    ///
    /// # Errors
    ///
    /// It cannot be started, or failed; with its standard error.
    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError>;
}

/// A chart of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteChart<'a> {
    /// The URL of the repository: `https`, `http` or `oci`.
    pub repository: &'a str,
    /// The name of the chart.
    pub name: &'a str,
    /// The version, or a range of them; may be empty.
    pub version: &'a str,
    pub devel: bool,
}

/// A program to run.
#[derive(Clone, Copy)]
pub struct Command<'a> {
    /// The program: a path, or a name to look up.
    pub program: &'a str,
    pub arguments: &'a [Argument],
    /// Variables to add to its environment.
    pub environment: &'a [(String, String)],
    /// The tree that `directory` is in.
    pub tree: &'a dyn Tree,
    /// The directory to run in: that of the kustomization.
    pub directory: &'a str,
    pub input: &'a [u8],
}

/// An argument of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    Text(String),
    /// The path of a temporary file with these bytes.
    File(Vec<u8>),
}

/// The installed file for a kind of plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginFile {
    /// A program, at this path.
    Program(String),
    /// A file at this path that is not executable.
    NotExecutable(String),
    /// A Go plugin, at this path.
    Go(String),
    /// None; the path where a program is expected.
    Absent(String),
    /// No plugin can be installed; the reason, with the way out if there is one.
    Impossible(String),
}

/// An error of a world.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// This build does not have it.
    #[error("{0} is not available in this build")]
    Sealed(String),
    /// A server answered with a failure.
    #[error("HTTP status {0}")]
    Status(u16),
    /// A program failed; with its standard error.
    #[error("{0}")]
    Program(String),
    /// Another failure, in the world's words.
    #[error("{0}")]
    Other(String),
}

/// A world without anything: every request is an error.
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
        PluginFile::Impossible("this build does not run plugins".to_owned())
    }

    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        Err(WorldError::Sealed(format!("the program {}", command.program)))
    }
}
