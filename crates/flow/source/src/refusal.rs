//! Why a reference has no commit, in the words of source-controller's Git library.

use bumpwright_git::{GitError, TransportError};

/// Why a reference cannot be resolved to a commit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckoutError {
    /// A branch was requested and the repository has no commit at all.
    #[error("git repository is empty")]
    Empty,
    /// A folder of the sparse checkout does not exist.
    #[error(
        "failed to sparse checkout directories : sparse checkout dir '{path}' does not exist in repository: no such file or directory"
    )]
    Sparse {
        /// As written in the spec.
        path: String,
    },
    #[error("failed to checkout and determine revision: {0}")]
    Failed(String),
}

impl CheckoutError {
    pub(super) fn failed(words: impl Into<String>) -> Self {
        Self::Failed(words.into())
    }

    /// A clone failed. `url` is without credentials.
    pub(super) fn clone(url: &str, error: &GitError) -> Self {
        Self::Failed(match error {
            GitError::EmptyRepository => {
                format!("unable to clone: remote repository is empty: git repository: '{url}'")
            }
            error => format!("unable to clone '{url}': {}", words(error)),
        })
    }

    /// The references could not be listed.
    pub(super) fn list(url: &str, error: &GitError) -> Self {
        Self::Failed(format!("unable to list remote for '{url}': {}", words(error)))
    }
}

/// An error of Git as go-git words it, without the address, which the surrounding sentence has already.
fn words(error: &GitError) -> String {
    match error {
        GitError::Transport(error) => transport(error),
        GitError::EmptyRepository => "remote repository is empty".to_owned(),
        other => other.to_string(),
    }
}

fn transport(error: &TransportError) -> String {
    match error {
        TransportError::Unauthorized { detail, .. } => format!("authentication required: {detail}"),
        TransportError::Forbidden { detail, .. } => format!("authorization failed: {detail}"),
        // The status text itself does not come from the server.
        TransportError::NotFound { detail, .. } if detail == "Not Found" => "repository not found: ".to_owned(),
        TransportError::NotFound { detail, .. } => format!("repository not found: {detail}"),
        TransportError::Timeout { .. } => "context deadline exceeded".to_owned(),
        TransportError::Connect { detail, .. } | TransportError::HostKey { detail, .. } => detail.clone(),
        other => other.to_string(),
    }
}
