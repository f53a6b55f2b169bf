//! Why an ImagePolicy has no image.

use std::time::Duration;

use bumpwright_api::Reason;
use bumpwright_runtime::Outcome;
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_runtime::clock::duration;

/// The variants are the reasons of the Ready condition; each has its message.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0}")]
    InvalidSpec(String),
    #[error("{0}")]
    IntervalNotConfigured(String),
    #[error("{0}")]
    InvalidAnnotation(String),
    #[error("{0}")]
    InvalidPolicy(String),
    #[error("{0}")]
    ImageUrlInvalid(String),
    #[error("failed to get the referred ImageRepository: {0}")]
    AccessDenied(String),
    #[error("bumpwright.dev/promote-from: {0}")]
    PromotionDenied(String),
    #[error("failed to get the referred ImageRepository: referenced ImageRepository does not exist: {0}")]
    DependencyNotReady(String),
    /// The repository has not been scanned yet.
    #[error("retrying in {} error: no tags in database", duration(*.0))]
    DependencyNotScanned(Duration),
    /// Another process has scanned it since, with a database of its own.
    #[error("retrying in {} error: the tags in database are not those of the last scan", duration(*.0))]
    DependencyNotScannedHere(Duration),
    /// A guard refuses the image, and the policy has no previous one.
    #[error("{message}")]
    ImageRefused { message: String, retry: Duration },
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("{0}")]
    Failure(String),
}

impl Error {
    fn reason(&self) -> Reason {
        match self {
            Self::InvalidSpec(_) => Reason::InvalidSpec,
            Self::IntervalNotConfigured(_) => Reason::IntervalNotConfigured,
            Self::InvalidAnnotation(_) => Reason::InvalidAnnotation,
            Self::InvalidPolicy(_) => Reason::InvalidPolicy,
            Self::ImageUrlInvalid(_) => Reason::ImageURLInvalid,
            Self::AccessDenied(_) | Self::PromotionDenied(_) => Reason::AccessDenied,
            Self::DependencyNotReady(_) | Self::DependencyNotScanned(_) | Self::DependencyNotScannedHere(_) => {
                Reason::DependencyNotReady
            }
            Self::ImageRefused { .. } => Reason::ImageRefused,
            Self::Failed(_) => Reason::Failed,
            Self::Interrupted(_) | Self::Failure(_) => Reason::Failure,
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        let (reason, message) = (error.reason(), error.to_string());
        match error {
            Error::InvalidSpec(_)
            | Error::IntervalNotConfigured(_)
            | Error::InvalidAnnotation(_)
            | Error::InvalidPolicy(_)
            | Error::ImageUrlInvalid(_) => Self::Stalled { reason, message },
            Error::DependencyNotScanned(after)
            | Error::DependencyNotScannedHere(after)
            | Error::ImageRefused { retry: after, .. } => Self::RequeueAfter { reason, message, after },
            Error::AccessDenied(_)
            | Error::PromotionDenied(_)
            | Error::DependencyNotReady(_)
            | Error::Failed(_)
            | Error::Interrupted(_)
            | Error::Failure(_) => Self::Backoff { reason, message },
        }
    }
}
