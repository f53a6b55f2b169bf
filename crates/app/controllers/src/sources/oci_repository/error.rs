//! Why an OCIRepository has no artifact, or an old one.

use crate::sources::error::{ArtifactError, Failure, SourceError};
use bumpwright_api::Reason;
use bumpwright_connect::ConnectError;
use bumpwright_verify::cosign::CosignError;

/// The variants are the reasons of conditions; each has its message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    AuthenticationFailed(String),
    /// The spec or a Secret cannot be used for a connection, which has a reason of its own.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("{0}")]
    UrlInvalid(String),
    #[error("{0}")]
    ReadOperationFailed(String),
    #[error("{0}")]
    OciArtifactPullFailed(String),
    #[error("{0}")]
    OciArtifactLayerOperationFailed(String),
    #[error("{0}")]
    Unverified(String),
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

impl SourceError for Error {
    fn failure(&self) -> Failure {
        match self {
            Self::AuthenticationFailed(_) => Failure::fetch(Reason::AuthenticationFailed),
            Self::Connect(error) => Failure::fetch(error.reason).stalled_if(error.is_stalling),
            Self::UrlInvalid(_) => Failure::fetch(Reason::URLInvalid).stalled(),
            Self::ReadOperationFailed(_) => Failure::fetch(Reason::ReadOperationFailed),
            Self::OciArtifactPullFailed(_) => Failure::fetch(Reason::OCIArtifactPullFailed),
            Self::OciArtifactLayerOperationFailed(_) => Failure::fetch(Reason::OCIArtifactLayerOperationFailed),
            Self::Unverified(_) => Failure::verification(CosignError::REASON),
            Self::Artifact(error) => error.failure(),
        }
    }
}
