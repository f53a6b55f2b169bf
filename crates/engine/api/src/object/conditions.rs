//! The conditions of a status as Flux keeps them (fluxcd/pkg `runtime/conditions`): one of each type, in a fixed order,
//! with the time of their last change.

use serde_json::{Value, json};

use super::meta::Condition;
use bumpwright_reason::Reason;
use bumpwright_text::Parts;

/// The object is in the state that its spec describes.
pub const READY: &str = "Ready";
/// The controller is working on the object, or will try again.
pub const RECONCILING: &str = "Reconciling";
/// A retry would not help: the object or its configuration has to change.
pub const STALLED: &str = "Stalled";

/// The longest message in bytes that the API takes (`metav1.Condition`).
const LONGEST_MESSAGE: usize = 32_768;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    True,
    /// The condition does not hold.
    False,
    Unknown,
}

impl ConditionStatus {
    /// The text in the API.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// The conditions of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    list: Vec<Condition>,
    generation: i64,
    now: String,
}

impl Conditions {
    /// The conditions of `status`. Changes get the object's `generation` and the time `now` in RFC 3339.
    #[must_use]
    pub fn of(status: &Value, generation: i64, now: &str) -> Self {
        let list = status.get("conditions").and_then(Value::as_array);
        let read = |value: &Value| serde_json::from_value(value.clone()).ok();
        Self {
            list: list.into_iter().flatten().filter_map(read).collect(),
            generation,
            now: now.to_owned(),
        }
    }

    /// The condition of a type.
    #[must_use]
    pub fn get(&self, kind: &str) -> Option<&Condition> {
        self.list.iter().find(|condition| condition.kind == kind)
    }

    /// Whether there is a condition of this type with this status.
    #[must_use]
    pub fn is(&self, kind: &str, is: ConditionStatus) -> bool {
        self.get(kind).is_some_and(|condition| condition.status == is.word())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The message of a condition; empty without one.
    #[must_use]
    pub fn message(&self, kind: &str) -> &str {
        self.get(kind).map_or("", |condition| &condition.message)
    }

    /// The reason of a condition; empty without one.
    #[must_use]
    pub fn reason(&self, kind: &str) -> &str {
        self.get(kind).map_or("", |condition| &condition.reason)
    }

    /// Sets a condition. Its time moves when status, reason or message do.
    pub fn set(&mut self, kind: &str, is: ConditionStatus, reason: Reason, message: &str) {
        self.put(kind, is, reason.as_str(), message);
    }

    fn put(&mut self, kind: &str, is: ConditionStatus, reason: &str, message: &str) {
        let mut new = Condition {
            kind: kind.to_owned(),
            status: is.word().to_owned(),
            reason: reason.to_owned(),
            message: shortened(message),
            observed_generation: Some(self.generation),
            last_transition_time: Some(self.now.clone()),
        };
        match self.list.iter_mut().find(|condition| condition.kind == kind) {
            Some(old) => {
                if (&old.status, &old.reason, &old.message) == (&new.status, &new.reason, &new.message) {
                    new.last_transition_time.clone_from(&old.last_transition_time);
                }
                *old = new;
            }
            None => self.list.push(new),
        }
        self.list.sort_by(|a, b| weight(a).cmp(&weight(b)));
    }

    pub fn remove(&mut self, kind: &str) {
        self.list.retain(|condition| condition.kind != kind);
    }

    /// Sets Reconciling and removes Stalled.
    pub fn reconciling(&mut self, reason: Reason, message: &str) {
        self.remove(STALLED);
        self.set(RECONCILING, ConditionStatus::True, reason, message);
    }

    /// Sets Stalled and removes Reconciling.
    pub fn stalled(&mut self, reason: Reason, message: &str) {
        self.remove(RECONCILING);
        self.set(STALLED, ConditionStatus::True, reason, message);
        self.set(READY, ConditionStatus::False, reason, message);
    }

    /// Sets Ready from other conditions (`conditions.SetSummary`), failures first. Among equals the first in `order`
    /// counts; conditions in `bad` are failures when they hold. Without any of them Ready stays as it is.
    pub fn summarise(&mut self, order: &[&str], bad: &[&str]) {
        let weight = |condition: &Condition| match (condition.status.as_str(), bad.contains(&condition.kind.as_str())) {
            ("True", true) => (0, ConditionStatus::False),
            ("False", false) => (1, ConditionStatus::False),
            ("True", false) => (2, ConditionStatus::True),
            ("False", true) => (3, ConditionStatus::True),
            _ => (4, ConditionStatus::Unknown),
        };
        let conditions = order.iter().filter_map(|kind| self.get(kind));
        let Some(first) = conditions.min_by_key(|condition| weight(condition).0) else {
            return;
        };
        let (is, reason, message) = (weight(first).1, first.reason.clone(), first.message.clone());
        self.put(READY, is, &reason, &message);
    }

    /// Sets Ready to false with reason and message of another condition, if that is false.
    pub fn fail_with(&mut self, kind: &str) {
        if let Some(failed) = self
            .get(kind)
            .filter(|failed| failed.status == ConditionStatus::False.word())
        {
            let (reason, message) = (failed.reason.clone(), failed.message.clone());
            self.put(READY, ConditionStatus::False, &reason, &message);
        }
    }

    /// Whether the object is ready as Flux defines it: neither stalled nor reconciling.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.is(READY, ConditionStatus::True)
            && !self.is(STALLED, ConditionStatus::True)
            && !self.is(RECONCILING, ConditionStatus::True)
    }

    /// The value of `status.conditions`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.list
            .iter()
            .map(|condition| {
                json!({
                    "type": condition.kind,
                    "status": condition.status,
                    "reason": condition.reason,
                    "message": condition.message,
                    "observedGeneration": condition.observed_generation,
                    "lastTransitionTime": condition.last_transition_time,
                })
            })
            .collect()
    }
}

/// Order in a status: Flux's types by urgency, then generation and name.
fn weight(condition: &Condition) -> (usize, i64, &str) {
    match [STALLED, RECONCILING, READY]
        .iter()
        .position(|kind| *kind == condition.kind)
    {
        Some(place) => (place, 0, ""),
        None => (3, -condition.observed_generation.unwrap_or_default(), &condition.kind),
    }
}

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST_MESSAGE - 3);
    format!("{}...", message.part(..end))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn conditions() -> Conditions {
        Conditions::of(&json!({}), 3, "2026-01-01T00:00:00Z")
    }

    fn types(conditions: &Conditions) -> Vec<&str> {
        conditions
            .list
            .iter()
            .map(|condition| condition.kind.as_str())
            .collect()
    }

    #[test]
    fn stalled_comes_before_reconciling_before_ready() {
        let mut all = conditions();
        for kind in ["Healthy", READY, "Built", RECONCILING, STALLED] {
            all.put(kind, ConditionStatus::True, "Because", "");
        }
        assert_eq!(types(&all), [STALLED, RECONCILING, READY, "Built", "Healthy"]);
    }

    #[test]
    fn the_time_moves_with_status_reason_or_message_and_the_generation_always() {
        let mut old = conditions();
        old.put(READY, ConditionStatus::True, "Succeeded", "up to date");
        let status = json!({"conditions": old.to_json()});
        let mut same = Conditions::of(&status, 4, "2026-02-02T00:00:00Z");
        same.put(READY, ConditionStatus::True, "Succeeded", "up to date");
        let ready = same.get(READY).unwrap();
        assert_eq!(ready.last_transition_time.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(ready.observed_generation, Some(4));
        same.put(READY, ConditionStatus::True, "Succeeded", "other");
        let ready = same.get(READY).unwrap();
        assert_eq!(ready.last_transition_time.as_deref(), Some("2026-02-02T00:00:00Z"));
    }

    #[test]
    fn ready_says_the_worst_that_others_say() {
        let order = ["FetchFailed", "Outdated", "Stored", "Verified", STALLED, RECONCILING];
        let bad = ["FetchFailed", "Outdated", STALLED, RECONCILING];
        let mut all = conditions();
        all.summarise(&order, &bad);
        assert_eq!(all.get(READY), None);
        all.put("Verified", ConditionStatus::True, "Succeeded", "verified");
        all.put("Stored", ConditionStatus::True, "Succeeded", "stored");
        all.summarise(&order, &bad);
        assert_eq!(
            (all.is(READY, ConditionStatus::True), all.message(READY)),
            (true, "stored")
        );
        all.put("Verified", ConditionStatus::False, "Unsigned", "no signature");
        all.summarise(&order, &bad);
        assert_eq!(
            (all.is(READY, ConditionStatus::False), all.message(READY)),
            (true, "no signature")
        );
        all.put(RECONCILING, ConditionStatus::True, "Progressing", "at it");
        all.put("FetchFailed", ConditionStatus::True, "Failed", "no route");
        all.summarise(&order, &bad);
        assert_eq!(
            (all.is(READY, ConditionStatus::False), all.message(READY)),
            (true, "no route")
        );
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut one = conditions();
        one.put(READY, ConditionStatus::False, "Failed", &"ä".repeat(20_000));
        let message = one.message(READY);
        assert!(message.len() <= LONGEST_MESSAGE && message.ends_with("ä..."));
    }
}
