//! Why a request is not reviewed.

use bumpwright_connect::git::GitLoginError;
use bumpwright_connect::{ConnectError, PullRequestError};
use bumpwright_forge::InvalidAddress;
use bumpwright_kube::ClusterError;
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_schemas::UnknownMinor;

use super::look::LookError;

/// Why the servers of a repository cannot be reached.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    /// The objects that the repository refers to cannot be read.
    #[error(transparent)]
    Objects(#[from] ClusterError),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error(transparent)]
    Repository(#[from] ConnectError),
    #[error(transparent)]
    Login(#[from] GitLoginError),
    #[error(transparent)]
    PullRequests(#[from] PullRequestError),
    #[error(transparent)]
    Forge(#[from] InvalidAddress),
    #[error(
        "the forge does not follow from the URL of the repository: name it by the annotation bumpwright.dev/review: github, gitea or \
         gitlab"
    )]
    UnknownForge,
    /// A status needs a branch of the project.
    #[error(
        "bumpwright.dev/review-forks: at GitLab the commits of forks take no status; set bumpwright.dev/review-comment: \"true\" as well"
    )]
    Forks,
}

/// Why a change has no review.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReviewError {
    #[error(transparent)]
    Schemas(#[from] UnknownMinor),
    #[error("cannot read the Kustomizations of the repository: {0}")]
    Kustomizations(#[from] ClusterError),
    #[error(transparent)]
    Look(#[from] LookError),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
