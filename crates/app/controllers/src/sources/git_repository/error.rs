//! Why a GitRepository has no artifact, or an old one.

use std::time::Duration;

use crate::sources::error::{ArtifactError, Failure, SourceError};
use bumpwright_api::Reason;
use bumpwright_connect::ConnectError;
use bumpwright_source::CheckoutError;
use bumpwright_verify::GitVerifyError;

/// The variants are the reasons of conditions; each has its message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    AuthenticationFailed(String),
    /// The spec or a Secret cannot be used for a connection, which has a reason of its own.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("could not get resource for include '{include}': {why}")]
    NotFound {
        include: String,
        why: String,
        after: Duration,
    },
    #[error("no artifact available for include '{include}'")]
    NoArtifact { include: String, after: Duration },
    #[error(transparent)]
    EmptyGitRepository(CheckoutError),
    #[error(transparent)]
    GitOperationFailed(CheckoutError),
    #[error("public keys secret error: {0}")]
    Unverified(String),
    /// A signature, which has a reason of its own.
    #[error(transparent)]
    Signature(#[from] GitVerifyError),
    #[error("failed to copy '{include}' include from {from} to {to}: {why}")]
    CopyFailure {
        include: String,
        from: String,
        to: String,
        why: String,
    },
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

impl SourceError for Error {
    fn failure(&self) -> Failure {
        match self {
            Self::AuthenticationFailed(_) => Failure::fetch(Reason::AuthenticationFailed),
            Self::Connect(error) => Failure::fetch(error.reason).stalled_if(error.is_stalling),
            Self::NotFound { after, .. } => Failure::include(Reason::NotFound).requeue_after(*after),
            Self::NoArtifact { after, .. } => Failure::include(Reason::NoArtifact).requeue_after(*after),
            Self::EmptyGitRepository(_) => Failure::fetch(Reason::EmptyGitRepository),
            Self::GitOperationFailed(_) => Failure::fetch(Reason::GitOperationFailed),
            Self::Unverified(_) => Failure::verification(Reason::VerificationError),
            Self::Signature(error) => Failure::verification(error.reason()).stalled_if(error.is_stalling()),
            Self::CopyFailure { .. } => Failure::storage(Reason::CopyFailure),
            Self::Artifact(error) => error.failure(),
        }
    }
}

impl From<CheckoutError> for Error {
    fn from(error: CheckoutError) -> Self {
        match error {
            CheckoutError::Empty => Self::EmptyGitRepository(error),
            CheckoutError::Failed(_) | CheckoutError::Sparse { .. } => Self::GitOperationFailed(error),
        }
    }
}
