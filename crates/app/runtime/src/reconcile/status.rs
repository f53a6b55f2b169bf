//! The status of an object during a reconciliation (fluxcd/pkg `runtime/reconcile`, IUA documents *Conditions*, C34).

use serde_json::{Map, Value, json};

use crate::event::record::EventType;
use crate::observe::metrics::ObjectStatus;
use bumpwright_api::{ConditionStatus, Conditions, READY, RECONCILING, Reason, STALLED};
use bumpwright_json::{TextFields, Texts as _};
use bumpwright_kube::Object;

/// The annotation that requests a reconciliation.
pub const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

/// The outcome of a reconciliation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ready {
        /// The message of Ready.
        message: String,
        /// The message of an event even if the object was ready before.
        news: Option<String>,
        /// The message of a trace event otherwise.
        trace: String,
        /// The time until the next reconciliation; none without.
        after: Option<std::time::Duration>,
    },
    /// Failed until the spec or another object changes.
    Stalled {
        /// The reason of Ready and Stalled.
        reason: Reason,
        message: String,
    },
    /// Failed, retried with backoff.
    Backoff {
        /// The reason of Ready.
        reason: Reason,
        message: String,
    },
    /// Failed, retried after a fixed time: it waits for another object, or has a retry interval.
    RequeueAfter {
        /// The reason of Ready.
        reason: Reason,
        message: String,
        /// The time until the retry.
        after: std::time::Duration,
    },
}

impl Outcome {
    /// Creates [`Outcome::Stalled`] of an error.
    pub fn stalled(reason: Reason, error: &dyn std::fmt::Display) -> Self {
        Self::Stalled {
            reason,
            message: error.to_string(),
        }
    }

    pub fn backoff(reason: Reason, message: &str) -> Self {
        Self::Backoff {
            reason,
            message: message.to_owned(),
        }
    }
}

/// The status of an object during its reconciliation.
#[derive(Clone, Debug)]
pub struct Status {
    /// The status at the API server.
    written: Map<String, Value>,
    /// The fields besides the conditions.
    pub fields: Map<String, Value>,
    pub conditions: Conditions,
    generation: i64,
    /// The version of the object for the next write.
    version: String,
    requested: Option<String>,
    /// Whether it was ready before.
    was_ready: bool,
    /// The message of Ready before.
    before: String,
}

/// An event about the object, to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub event_type: EventType,
    pub reason: Reason,
    pub message: String,
}

impl Status {
    /// Starts from the status of `object` at the time `now` (RFC 3339).
    #[must_use]
    pub fn of(object: &Object, now: &str) -> Self {
        let written = object.status();
        let conditions = Conditions::of(&written, object.generation, now);
        let written = match written {
            Value::Object(written) => written,
            _ => Map::new(),
        };
        Self {
            fields: written.clone(),
            written,
            generation: object.generation,
            version: object.resource_version.clone(),
            requested: object.annotations.get(REQUESTED_AT).cloned(),
            was_ready: conditions.ready(),
            before: conditions.message(READY).to_owned(),
            conditions,
        }
    }

    /// The message that Ready had before this reconciliation.
    #[must_use]
    pub fn message_before(&self) -> &str {
        &self.before
    }

    /// A text of the status; empty when missing.
    #[must_use]
    pub fn text(&self, field: &str) -> &str {
        self.fields.text_of(field)
    }

    /// A text inside an object of the status; empty when missing.
    #[must_use]
    pub fn text_at(&self, object: &str, field: &str) -> &str {
        self.fields.get(object).map_or("", |object| object.text_of(field))
    }

    /// Sets Ready to unknown.
    pub fn unsettle(&mut self, message: &str) {
        self.conditions
            .set(READY, ConditionStatus::Unknown, Reason::Progressing, message);
    }

    /// Whether there is an unhandled request for a reconciliation.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.requested
            .as_deref()
            .is_some_and(|requested| requested != self.text("lastHandledReconcileAt"))
    }

    /// Sets the conditions at the beginning. True when they should be written at once.
    pub fn begin(&mut self) -> bool {
        let observed = self
            .fields
            .get("observedGeneration")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        let is_new = observed != self.generation;
        let message = if is_new {
            format!("processing object: new generation {observed} -> {}", self.generation)
        } else {
            "reconciliation in progress".to_owned()
        };
        self.progress(&message);
        is_new || self.is_requested()
    }

    /// Sets the current step. A Ready that is not unknown is kept meanwhile.
    pub fn progress(&mut self, message: &str) {
        self.conditions.reconciling(Reason::Progressing, message);
        let says_nothing = self.conditions.get(READY).is_none() || self.conditions.is(READY, ConditionStatus::Unknown);
        if says_nothing {
            self.conditions
                .set(READY, ConditionStatus::Unknown, Reason::Progressing, message);
        }
    }

    /// Marks this generation as observed without a reconciliation: settled conditions apply to it too.
    pub fn observe(&mut self) {
        if self.conditions.ready() || self.conditions.is(STALLED, ConditionStatus::True) {
            self.mark_observed();
        }
    }

    /// Sets the conditions for the outcome. Returns its event.
    pub fn end(&mut self, outcome: &Outcome) -> NewEvent {
        let mut observed = true;
        match outcome {
            Outcome::Ready { message, .. } => {
                self.conditions.remove(RECONCILING);
                self.conditions
                    .set(READY, ConditionStatus::True, Reason::Succeeded, message);
            }
            Outcome::Stalled { reason, message } => self.conditions.stalled(*reason, message),
            Outcome::Backoff { reason, message } | Outcome::RequeueAfter { reason, message, .. } => {
                observed = false;
                let doing = self.conditions.message(RECONCILING).to_owned();
                self.conditions.reconciling(Reason::ProgressingWithRetry, &doing);
                self.conditions.set(READY, ConditionStatus::False, *reason, message);
            }
        }
        if observed {
            self.mark_observed();
        }
        self.mark_handled();
        self.new_event(outcome)
    }

    pub(super) fn new_event(&self, outcome: &Outcome) -> NewEvent {
        let (event_type, reason, message) = match outcome {
            Outcome::Ready {
                message, news, trace, ..
            } => match (news, self.was_ready) {
                (Some(news), _) => (EventType::Normal, Reason::Succeeded, news),
                (None, false) => (EventType::Normal, Reason::Succeeded, message),
                (None, true) => (EventType::Trace, Reason::Succeeded, trace),
            },
            Outcome::Stalled { reason, message }
            | Outcome::Backoff { reason, message }
            | Outcome::RequeueAfter { reason, message, .. } => (EventType::Warning, *reason, message),
        };
        NewEvent {
            event_type,
            reason,
            message: message.clone(),
        }
    }

    /// The version of the object for the next write.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Sets the version of the object for the next write.
    pub fn move_to(&mut self, object: &Object) {
        self.version.clone_from(&object.resource_version);
    }

    /// Marks the current generation as observed.
    pub fn mark_observed(&mut self) {
        let generation = json!(self.generation);
        self.fields.insert("observedGeneration".to_owned(), generation);
    }

    /// Marks the request for a reconciliation as handled.
    pub fn mark_handled(&mut self) {
        if let Some(requested) = &self.requested {
            self.fields
                .insert("lastHandledReconcileAt".to_owned(), json!(requested));
        }
    }

    /// How the reconciliation that is concluded left the object.
    #[must_use]
    pub fn measured(&self) -> ObjectStatus {
        if self.conditions.is(STALLED, ConditionStatus::True) {
            ObjectStatus::Stalled
        } else if self.conditions.is(READY, ConditionStatus::True) {
            ObjectStatus::Ready
        } else {
            ObjectStatus::Failing
        }
    }

    /// The unwritten changes as a JSON merge patch (RFC 7396); none when there are none.
    #[must_use]
    pub fn patch(&self) -> Option<Value> {
        let patch = difference(&self.written, &self.wanted());
        (!patch.is_empty()).then(|| json!({ "status": patch }))
    }

    /// Marks [`Status::patch`] as written, with the updated object.
    pub fn wrote(&mut self, after: &Object) {
        self.written = self.wanted();
        self.move_to(after);
    }

    fn wanted(&self) -> Map<String, Value> {
        let mut wanted = self.fields.clone();
        let conditions = self.conditions.to_json();
        if self.written.contains_key("conditions") || conditions.as_array().is_some_and(|list| !list.is_empty()) {
            wanted.insert("conditions".to_owned(), conditions);
        }
        wanted
    }
}

/// The merge patch from `old` to `new`.
fn difference(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let mut patch: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new {
        match (old.get(key), value) {
            (Some(old), value) if old == value => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                patch.insert(key.clone(), Value::Object(difference(old, new)));
            }
            _ => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    patch
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_merge_patch_says_what_changed_and_what_is_gone() {
        let old = map(json!({"a": 1, "b": {"c": {"d": 1, "e": 2}}, "f": [1], "g": 1}));
        let new = map(json!({"a": 1, "b": {"c": {"d": 1}}, "f": [1, 2], "h": {"i": 1}}));
        let patch = json!({"b": {"c": {"e": null}}, "f": [1, 2], "g": null, "h": {"i": 1}});
        assert_eq!(Value::Object(difference(&old, &new)), patch);
        assert!(difference(&new, &new).is_empty());
    }
}
