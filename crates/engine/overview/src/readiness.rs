//! The state of an object, by its Ready, Reconciling and Stalled conditions.

use bumpwright_api::Condition;
use bumpwright_gostd::{RFC_3339, Time};
use serde::Serialize;

use super::facts::{Facts, Spec, Status};

/// The state of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Ready is False, and it does not go on by itself (Stalled).
    Stalled,
    /// Ready is False.
    Failed,
    /// It is being deleted.
    Deleting,
    /// It is at work, or has not seen its newest spec yet.
    Progressing,
    /// It has not said anything.
    #[default]
    Unknown,
    /// Ready is True.
    Ready,
}

impl State {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Stalled => "stalled",
            Self::Failed => "failed",
            Self::Deleting => "deleting",
            Self::Progressing => "progressing",
            Self::Unknown => "unknown",
            Self::Ready => "ready",
        }
    }

    /// Whether it is Ready=False.
    #[must_use]
    pub fn is_broken(self) -> bool {
        matches!(self, Self::Stalled | Self::Failed)
    }
}

/// The state of an object, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    pub state: State,
    /// Whether it is suspended besides.
    pub suspended: bool,
    /// The reason of its Ready condition.
    pub reason: String,
    /// The message of its Ready condition.
    pub message: String,
    /// When that changed last, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Whether it is at work since its spec has changed, and no controller says that it has begun.
    #[serde(skip)]
    pub(crate) is_behind: bool,
    /// When it was created, in seconds since 1970-01-01 UTC.
    #[serde(skip)]
    pub(crate) created: Option<i64>,
}

impl<S: Spec, T: Status> Facts<S, T> {
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        let conditions = self.status.conditions();
        let get = |kind: &str| conditions.iter().find(|condition| condition.kind == kind);
        let is = |kind: &str, status: &str| get(kind).is_some_and(|condition| condition.status == status);
        let seen = [
            Some(self.status.observed_generation()),
            get("Ready").and_then(|ready| ready.observed_generation),
        ];
        let is_current = seen.into_iter().flatten().any(|seen| seen >= self.metadata.generation);
        let state = match () {
            () if self.metadata.deletion_timestamp.is_some() => State::Deleting,
            () if is("Stalled", "True") => State::Stalled,
            () if is("Ready", "False") => State::Failed,
            () if conditions.is_empty() && self.spec.is_static() => State::Ready,
            () if conditions.is_empty() => State::Unknown,
            () if is("Reconciling", "True") || !is_current => State::Progressing,
            () if is("Ready", "True") => State::Ready,
            () => State::Progressing,
        };
        let told = match state {
            State::Stalled => get("Ready").or_else(|| get("Stalled")),
            _ => get("Ready").or_else(|| get("Reconciling")),
        };
        let texts = told.map(|told| [&told.reason, &told.message].map(String::clone));
        let [reason, message] = texts.unwrap_or_default();
        Readiness {
            state,
            suspended: self.spec.is_suspended(),
            reason,
            message,
            since: told.and_then(since),
            is_behind: !is_current && !is("Reconciling", "True"),
            created: self.metadata.creation_timestamp.as_deref().and_then(seconds),
        }
    }
}

/// When a condition changed last.
pub(crate) fn since(condition: &Condition) -> Option<i64> {
    condition.last_transition_time.as_deref().and_then(seconds)
}

/// A time of RFC 3339 in seconds since 1970-01-01 UTC.
pub(crate) fn seconds(text: &str) -> Option<i64> {
    Time::parse(RFC_3339, text.as_bytes())
        .ok()
        .map(|time| time.unix_seconds())
}
