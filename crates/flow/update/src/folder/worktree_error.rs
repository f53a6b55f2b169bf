//! Errors of commits in the user's working repository.

/// Why files of a working repository cannot be committed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// Nothing to commit onto.
    #[error("the repository has no commits; make a first one, or run without --commit")]
    NoCommits,
    /// Git does not know the file.
    #[error("{path} is not tracked by git; `git add` it, name other files with --path, or run without --commit")]
    Untracked { path: String },
    /// The commit would hold more than the edits.
    #[error("{path} has uncommitted changes; commit or stash them first, or run without --commit")]
    Uncommitted { path: String },
    /// The list of the files for git.
    #[error("cannot {action} a temporary file: {source}")]
    Temporary {
        action: &'static str,
        source: std::io::Error,
    },
}
