//! Why a HelmRepository has no artifact, or an old one.

use crate::sources::error::{ArtifactError, Failure, SourceError};
use bumpwright_api::Reason;
use bumpwright_connect::ConnectError;

/// The variants are the reasons of conditions; each has its message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    AuthenticationFailed(String),
    /// A Secret cannot be used for a connection, which has a reason of its own.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("invalid Helm repository URL: {0}")]
    UrlInvalid(String),
    #[error("failed to fetch Helm repository index: failed to cache index to temporary file: {0}")]
    Fetch(String),
    #[error("failed to load Helm repository from index YAML: failed to load index: {0}")]
    IndexationFailed(String),
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

impl SourceError for Error {
    fn failure(&self) -> Failure {
        match self {
            Self::AuthenticationFailed(_) => Failure::fetch(Reason::AuthenticationFailed),
            Self::Connect(error) => Failure::fetch(error.reason).stalled_if(error.is_stalling),
            Self::UrlInvalid(_) => Failure::fetch(Reason::URLInvalid).stalled(),
            Self::Fetch(_) => Failure::fetch(Reason::Failed),
            Self::IndexationFailed(_) => Failure::fetch(Reason::IndexationFailed),
            Self::Artifact(error) => error.failure(),
        }
    }
}
