//! How errors of steps show in a source's status, and the errors that all kinds have in common. Those of a kind
//! are in its folder.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::status::{BUILD_FAILED, FETCH_FAILED, INCLUDE_UNAVAILABLE, STORAGE_FAILED, VERIFIED};
use bumpwright_api::{ConditionStatus, Reason};
use bumpwright_runtime::Outcome;
use bumpwright_source::ArchiveError;
use bumpwright_storage::StorageError;

/// The errors of a kind. Its text is the message of the conditions.
pub(crate) trait SourceError: std::error::Error + From<ArtifactError> + Send + 'static {
    /// Its condition, reason and retry.
    fn failure(&self) -> Failure;
}

/// The condition, reason and retry of an error. By default it is retried with a backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The condition that shows it, besides Ready.
    pub(super) condition: Option<(&'static str, ConditionStatus)>,
    /// The reason of the condition, of Ready and of the event.
    pub(super) reason: Reason,
    retry: Retry,
}

/// When a failed step is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    /// After a change of the object.
    Never,
    Backoff,
    After(Duration),
}

impl Failure {
    pub(crate) const fn fetch(reason: Reason) -> Self {
        Self::new(Some((FETCH_FAILED, ConditionStatus::True)), reason)
    }

    /// What was fetched could not be changed as it should be.
    pub(crate) const fn build(reason: Reason) -> Self {
        Self::new(Some((BUILD_FAILED, ConditionStatus::True)), reason)
    }

    /// The folder of artifacts, or a temporary file, is unusable.
    pub(crate) const fn storage(reason: Reason) -> Self {
        Self::new(Some((STORAGE_FAILED, ConditionStatus::True)), reason)
    }

    /// A signature is missing or wrong.
    pub(crate) const fn verification(reason: Reason) -> Self {
        Self::new(Some((VERIFIED, ConditionStatus::False)), reason)
    }

    /// An included artifact does not exist.
    pub(crate) const fn include(reason: Reason) -> Self {
        Self::new(Some((INCLUDE_UNAVAILABLE, ConditionStatus::True)), reason)
    }

    /// Only Ready shows it.
    pub(crate) const fn ready_only(reason: Reason) -> Self {
        Self::new(None, reason)
    }

    const fn new(condition: Option<(&'static str, ConditionStatus)>, reason: Reason) -> Self {
        Self {
            condition,
            reason,
            retry: Retry::Backoff,
        }
    }

    /// Retries are useless before the object changes.
    pub(crate) const fn stalled(self) -> Self {
        Self {
            retry: Retry::Never,
            ..self
        }
    }

    pub(crate) const fn stalled_if(self, stalled: bool) -> Self {
        if stalled { self.stalled() } else { self }
    }

    /// It is retried after that time.
    pub(crate) const fn requeue_after(self, after: Duration) -> Self {
        Self {
            retry: Retry::After(after),
            ..self
        }
    }

    /// The outcome of the reconciliation.
    pub(super) fn outcome(self, message: String) -> Outcome {
        let reason = self.reason;
        match self.retry {
            Retry::Never => Outcome::Stalled { reason, message },
            Retry::Backoff => Outcome::Backoff { reason, message },
            Retry::After(after) => Outcome::RequeueAfter { reason, message, after },
        }
    }
}

/// Errors of steps that all kinds have in common. The variants are the reasons of conditions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArtifactError {
    #[error("failed to load source ignore patterns from repository: {0}")]
    SourceIgnoreError(ArchiveError),
    #[error("failed to create temporary file in {}: {error}", .folder.display())]
    DirectoryCreationFailed { folder: PathBuf, error: io::Error },
    #[error("unable to {doing} artifact to storage: {error}")]
    ArchiveOperationFailed { doing: &'static str, error: StorageError },
    /// A step panicked, or the object was deleted.
    #[error("{0}")]
    Failed(String),
}

impl ArtifactError {
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::SourceIgnoreError(_) => Failure::ready_only(Reason::SourceIgnoreError),
            Self::DirectoryCreationFailed { .. } => Failure::storage(Reason::DirectoryCreationFailed),
            Self::ArchiveOperationFailed { .. } => Failure::storage(Reason::ArchiveOperationFailed),
            Self::Failed(_) => Failure::ready_only(Reason::Failed),
        }
    }
}
