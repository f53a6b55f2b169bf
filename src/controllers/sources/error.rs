//! Why a source has no artifact, or an old one.

use std::time::Duration;

use super::status::{FETCH_FAILED, INCLUDE_UNAVAILABLE, STORAGE_FAILED, VERIFIED};
use bumpwright_api::Is;
use bumpwright_connect::ConnectError;
use bumpwright_runtime::{Outcome, Status};

/// An error of a step.
#[derive(Debug)]
pub(crate) struct SourceError {
    /// The condition that shows it, besides Ready.
    condition: Option<(&'static str, Is)>,
    retry: Retry,
    reason: &'static str,
    message: String,
}

/// When a step that failed is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    /// After a change of the object.
    Never,
    Backoff,
    After(Duration),
}

impl SourceError {
    /// Nothing was fetched.
    pub(crate) fn fetch(reason: &'static str, message: String) -> Self {
        Self::new(Some((FETCH_FAILED, Is::True)), reason, message)
    }

    /// The folder of artifacts, or a temporary file, cannot be used.
    pub(crate) fn storage(reason: &'static str, message: String) -> Self {
        Self::new(Some((STORAGE_FAILED, Is::True)), reason, message)
    }

    /// A signature is missing or wrong.
    pub(crate) fn verification(reason: &'static str, message: String) -> Self {
        Self::new(Some((VERIFIED, Is::False)), reason, message)
    }

    /// An artifact that is included does not exist; it is looked for again `after` that.
    pub(crate) fn include(reason: &'static str, message: String, after: Duration) -> Self {
        Self {
            retry: Retry::After(after),
            ..Self::new(Some((INCLUDE_UNAVAILABLE, Is::True)), reason, message)
        }
    }

    /// No condition shows it but Ready.
    pub(crate) fn other(reason: &'static str, message: String) -> Self {
        Self::new(None, reason, message)
    }

    fn new(condition: Option<(&'static str, Is)>, reason: &'static str, message: String) -> Self {
        Self {
            condition,
            retry: Retry::Backoff,
            reason,
            message,
        }
    }

    /// Trying again does not help before the object changes.
    pub(crate) fn stalled(self) -> Self {
        Self {
            retry: Retry::Never,
            ..self
        }
    }

    /// Sets the condition.
    pub(crate) fn show(&self, status: &mut Status) {
        if let Some((condition, is)) = self.condition {
            status.conditions.set(condition, is, self.reason, &self.message);
        }
    }

    /// Sets the condition, and gives what the reconciliation comes to.
    pub(crate) fn conclude(self, status: &mut Status) -> Outcome {
        self.show(status);
        let (reason, message) = (self.reason, self.message);
        match self.retry {
            Retry::Never => Outcome::Stalled { reason, message },
            Retry::Backoff => Outcome::Backoff { reason, message },
            Retry::After(after) => Outcome::RequeueAfter { reason, message, after },
        }
    }
}

impl From<ConnectError> for SourceError {
    fn from(error: ConnectError) -> Self {
        let refused = Self::fetch(error.reason, error.message);
        match error.is_stalling {
            true => refused.stalled(),
            false => refused,
        }
    }
}
