//! Why an ImageUpdateAutomation is not ready (docs/behaviour/image-automation-controller.md, *Reasons and messages*).

use bumpwright_api::Reason;
use bumpwright_connect::PullRequestError;
use bumpwright_runtime::Outcome;
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_update::Failure;

/// The variants are the reasons of the Ready condition; each has its message.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{0}")]
    InvalidSpec(String),
    #[error("unsupported update strategy: {0}")]
    InvalidUpdateStrategy(String),
    #[error("{0}")]
    InvalidAnnotation(String),
    #[error("failed to parse policy selector: {0}")]
    InvalidPolicySelector(String),
    #[error("{0}")]
    InvalidSourceConfiguration(String),
    #[error("{0}")]
    AccessDenied(String),
    /// An object that the spec refers to cannot be used now.
    #[error("failed configuring source manager: {0}")]
    SourceManagerFailed(String),
    /// The mirror of the repository is unusable.
    #[error("failed to checkout source: unable to clone '{url}': {message}")]
    GitOperationFailed { url: String, message: String },
    /// A step of the run failed, with a reason and a message of its own.
    #[error("{}", .0.message)]
    Run(Failure),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("{0}")]
    Failed(String),
}

impl Error {
    fn reason(&self) -> Reason {
        match self {
            Self::InvalidSpec(_) => Reason::InvalidSpec,
            Self::InvalidUpdateStrategy(_) => Reason::InvalidUpdateStrategy,
            Self::InvalidAnnotation(_) => Reason::InvalidAnnotation,
            Self::InvalidPolicySelector(_) => Reason::InvalidPolicySelector,
            Self::InvalidSourceConfiguration(_) => Reason::InvalidSourceConfiguration,
            Self::AccessDenied(_) => Reason::AccessDenied,
            Self::SourceManagerFailed(_) => Reason::SourceManagerFailed,
            Self::GitOperationFailed { .. } => Reason::GitOperationFailed,
            Self::Run(failure) => failure.reason,
            Self::Interrupted(_) | Self::Failed(_) => Reason::Failed,
        }
    }
}

impl From<PullRequestError> for Error {
    fn from(error: PullRequestError) -> Self {
        Self::SourceManagerFailed(error.to_string())
    }
}

/// Plain messages are errors of the source.
impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::SourceManagerFailed(message)
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        let (reason, message) = (error.reason(), error.to_string());
        match error {
            Error::InvalidSpec(_)
            | Error::InvalidUpdateStrategy(_)
            | Error::InvalidAnnotation(_)
            | Error::InvalidPolicySelector(_)
            | Error::InvalidSourceConfiguration(_)
            | Error::AccessDenied(_) => Self::Stalled { reason, message },
            Error::SourceManagerFailed(_)
            | Error::GitOperationFailed { .. }
            | Error::Run(_)
            | Error::Interrupted(_)
            | Error::Failed(_) => Self::Backoff { reason, message },
        }
    }
}
