//! Why there is no commit, in the words of source-controller's Git library.

use bumpwright_git::{GitError, TransportError};

/// Why a reference leads to no commit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckoutError {
    /// A branch was wanted and the repository has no commit at all.
    #[error("git repository is empty")]
    Empty,
    /// A folder that is to be checked out is not there.
    #[error(
        "failed to sparse checkout directories : sparse checkout dir '{path}' does not exist in repository: no such file or directory"
    )]
    Sparse {
        /// As it is written in the spec.
        path: String,
    },
    /// Anything else.
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

/// An error of Git as go-git says it, without the address that the sentence around it has already.
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
        // The words of the status itself are none of the server's.
        TransportError::NotFound { detail, .. } if detail == "Not Found" => "repository not found: ".to_owned(),
        TransportError::NotFound { detail, .. } => format!("repository not found: {detail}"),
        TransportError::Timeout { .. } => "context deadline exceeded".to_owned(),
        TransportError::Connect { detail, .. } | TransportError::HostKey { detail, .. } => detail.clone(),
        other => other.to_string(),
    }
}
