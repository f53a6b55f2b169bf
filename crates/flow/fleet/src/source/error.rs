//! Why the files of a source are not available.

use std::sync::Arc;

use bumpwright_build::FolderError;
use bumpwright_git::GitError;
use bumpwright_kustomize::tree::TreeError;
use bumpwright_source::ArchiveError;
use bumpwright_yaml::{ReadError, WriteError};

/// Why the files of a source are not available.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing in the fleet is or makes it.
    #[error(transparent)]
    Missing(#[from] MissingSource),
    /// It was not among the fetches.
    #[error("{0} was not fetched")]
    NotFetched(String),
    /// What a fork names is not fetched.
    #[error("{0}: nothing is fetched for a fork")]
    Fork(String),
    /// It cannot be fetched, as the one who fetches says.
    #[error(transparent)]
    Fetch(#[from] Box<dyn std::error::Error + Send + Sync>),
    /// Its server does not have it.
    #[error("{0}")]
    Absent(String),
    #[error("its ArtifactGenerator makes no artifact {0}")]
    NotMade(String),
    #[error("{name} build failed: {error}")]
    Generator { name: String, error: GeneratorError },
    /// Something else has the path of an entry of `spec.include`.
    #[error("cannot include {from} as {to}: file exists")]
    Exists { from: String, to: String },
    /// The files of an entry of `spec.include` cannot be read.
    #[error("cannot include {from} as {to}: {error}")]
    Include { from: String, to: String, error: TreeError },
    /// A source that it is made of is not available.
    #[error(transparent)]
    Part(#[from] Arc<SourceError>),
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A folder on disk cannot be listed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A commit cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its ignore rules cannot be read.
    #[error(transparent)]
    Ignore(#[from] ArchiveError),
}

/// Why a source is not in a fleet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingSource {
    #[error("{0} is not in the fleet")]
    Absent(String),
    #[error("{0}: no ArtifactGenerator in the fleet makes it; give its files with --source {0}=DIR")]
    NoGenerator(String),
    #[error("{0} is made of itself, or of too many others")]
    Circular(String),
}

/// Why an artifact is not made, in the words of source-watcher.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    #[error("invalid pathPattern format: {0}")]
    Pattern(String),
    #[error("pathPattern {pattern:?}: source alias {alias} not found in local sources")]
    PatternSource { pattern: String, alias: String },
    /// A source cannot be listed.
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("failed to apply copy operation from '{from}' to '{to}': {problem}")]
    Copy {
        from: String,
        to: String,
        #[source]
        problem: Box<CopyError>,
    },
}

/// Why nothing is copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("invalid copy source '{0}': source format must be '@alias/pattern'")]
    From(String),
    #[error("invalid copy destination '{0}': destination must start with '@artifact/'")]
    To(String),
    #[error("source alias '{0}' not found")]
    NoSource(String),
    #[error("the strategy Extract is not supported here; --source gives the files of the artifact")]
    Extract,
    #[error("no files match pattern '{pattern}' in source '{alias}'")]
    NoMatch { pattern: String, alias: String },
    #[error("all files matching pattern '{pattern}' in source '{alias}' were excluded")]
    AllExcluded { pattern: String, alias: String },
    #[error("source '{0}' does not exist")]
    Missing(String),
    /// A source cannot be read, or something else is in the way.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A file to be merged is not YAML.
    #[error(transparent)]
    Syntax(#[from] ReadError),
    /// It has what the result cannot have.
    #[error("{}", .0.go())]
    Value(#[from] WriteError),
}
