//! What kstatus says of an object: a status, a sentence, and the condition that the object should have.

use std::fmt;

/// How far an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// On its way.
    InProgress,
    /// It will not get there by itself.
    Failed,
    /// It is what was asked for.
    Current,
    /// It is being deleted.
    Terminating,
    /// It is not there.
    NotFound,
    /// It could not be told.
    Unknown,
}

impl Status {
    /// As Flux spells it.
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

/// A condition that a status comes with; its status is always `True`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `Reconciling` or `Stalled`.
    pub kind: &'static str,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// What was found out about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// How far it is.
    pub status: Status,
    /// Why.
    pub message: String,
    /// `Reconciling` for what is on its way, `Stalled` for what failed.
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
