//! Why a Bucket has no artifact, or an old one.

use crate::sources::error::{ArtifactError, Failure, SourceError};
use bumpwright_api::Reason;
use bumpwright_connect::ConnectError;
use bumpwright_object_store::BucketError;
use bumpwright_source::BucketFetchError;

/// The variants are the reasons of conditions; each has its message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    AuthenticationFailed(String),
    /// The spec or a Secret cannot be used for a connection, which has a reason of its own.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// An answer of the store, which has a reason of its own.
    #[error(transparent)]
    Store(#[from] BucketError),
    /// What was fetched is not kept.
    #[error(transparent)]
    Kept(BucketFetchError),
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

impl SourceError for Error {
    fn failure(&self) -> Failure {
        match self {
            Self::AuthenticationFailed(_) => Failure::fetch(Reason::AuthenticationFailed),
            Self::Connect(error) => Failure::fetch(error.reason).stalled_if(error.is_stalling),
            Self::Store(error) => Failure::fetch(error.reason()).stalled_if(error.is_stalling()),
            Self::Kept(_) => Failure::fetch(Reason::BucketOperationFailed),
            Self::Artifact(error) => error.failure(),
        }
    }
}

impl From<BucketFetchError> for Error {
    fn from(error: BucketFetchError) -> Self {
        match error {
            BucketFetchError::Store(error) => Self::Store(error),
            error @ BucketFetchError::Kept { .. } => Self::Kept(error),
        }
    }
}
