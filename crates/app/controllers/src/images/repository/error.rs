//! Why an ImageRepository is not ready.

use bumpwright_api::Reason;
use bumpwright_runtime::Outcome;
use bumpwright_scan::ScanError;

/// The variants are the reasons of the Ready condition; each has its message.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0}")]
    InvalidSpec(String),
    #[error("{0}")]
    InvalidAnnotation(String),
    #[error("{0}")]
    ImageUrlInvalid(String),
    #[error("{0}")]
    AuthenticationFailed(String),
    #[error("{0}")]
    ReadOperationFailed(String),
    #[error("{0}")]
    Failure(String),
}

impl Error {
    fn reason(&self) -> Reason {
        match self {
            Self::InvalidSpec(_) => Reason::InvalidSpec,
            Self::InvalidAnnotation(_) => Reason::InvalidAnnotation,
            Self::ImageUrlInvalid(_) => Reason::ImageURLInvalid,
            Self::AuthenticationFailed(_) => Reason::AuthenticationFailed,
            Self::ReadOperationFailed(_) => Reason::ReadOperationFailed,
            Self::Failure(_) => Reason::Failure,
        }
    }
}

impl From<ScanError> for Error {
    fn from(error: ScanError) -> Self {
        let message = error.to_string();
        match error {
            ScanError::Access(_) | ScanError::Login(_) | ScanError::Provider(_) => Self::AuthenticationFailed(message),
            _ => Self::ReadOperationFailed(message),
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        let (reason, message) = (error.reason(), error.to_string());
        match error {
            Error::InvalidSpec(_) | Error::InvalidAnnotation(_) | Error::ImageUrlInvalid(_) => {
                Self::Stalled { reason, message }
            }
            Error::AuthenticationFailed(_) | Error::ReadOperationFailed(_) | Error::Failure(_) => {
                Self::Backoff { reason, message }
            }
        }
    }
}
