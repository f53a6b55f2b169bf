//! The results of kstatus: a status, a message, and the condition that the object should have.

use std::fmt;

/// The status of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It is being reconciled.
    InProgress,
    Failed,
    /// It has its desired state.
    Current,
    /// It is being deleted.
    Terminating,
    /// It does not exist.
    NotFound,
    /// It is not known.
    Unknown,
}

impl Status {
    /// The spelling in Flux.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "InProgress",
            Self::Failed => "Failed",
            Self::Current => "Current",
            Self::Terminating => "Terminating",
            Self::NotFound => "NotFound",
            Self::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The condition of a status; its own status is always `True`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `Reconciling` or `Stalled`.
    pub kind: &'static str,
    pub reason: String,
    pub message: String,
}

/// The health of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub status: Status,
    pub message: String,
    /// `Reconciling` when in progress, `Stalled` when failed.
    pub condition: Option<Condition>,
}

impl Health {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            condition: None,
        }
    }

    pub(crate) fn current(message: impl Into<String>) -> Self {
        Self::new(Status::Current, message)
    }

    pub(crate) fn in_progress(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Status::InProgress, message).with("Reconciling", reason)
    }

    pub(crate) fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Status::Failed, message).with("Stalled", reason)
    }

    fn with(self, kind: &'static str, reason: &str) -> Self {
        let condition = Condition {
            kind,
            reason: reason.to_owned(),
            message: self.message.clone(),
        };
        Self {
            condition: Some(condition),
            ..self
        }
    }
}
