//! What a Kustomization changed last, and how the cluster differed from it last, as its events and its status tell.

use bumpwright_api::ObjectName;

use super::changes::{Change, ChangeKind};
use super::facts::EventFacts;
use super::world::{Id, KUSTOMIZATION, World};

/// The reason of reported drift.
const DRIFT: &str = "DriftDetected";

/// Events of one apply and its prune are not further apart, in seconds.
const APART: i64 = 5;

/// The last differences of a Kustomization from the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The objects that it changed: a line for each, as in `Deployment/apps/web configured`.
    pub applied: Option<Change>,
    /// The drift that it reported, and did not correct.
    pub drift: Option<Change>,
}

impl World {
    /// The last differences of a Kustomization. The API server keeps events for an hour, as a rule; drift that is there
    /// stays in the status.
    #[must_use]
    pub fn differences(&self, name: &ObjectName) -> Differences {
        let id = Id::new(KUSTOMIZATION, name.clone());
        let events: Vec<(i64, &EventFacts)> = self
            .events
            .iter()
            .filter(|event| event.involved_object.kind == KUSTOMIZATION)
            .filter(|event| event.involved_object.from(&event.metadata.namespace) == *name)
            .filter_map(|event| Some((event.at()?, event)))
            .collect();
        Differences {
            applied: applied(&id, &events),
            drift: self.drift(&id, &events),
        }
    }

    fn drift(&self, id: &Id, told: &[(i64, &EventFacts)]) -> Option<Change> {
        let events = told.iter().filter(|(_, event)| event.reason == DRIFT);
        let last = events.max_by_key(|(at, _)| *at);
        // An event is cut earlier than a condition.
        let now = self.readiness(id).filter(|readiness| readiness.reason == DRIFT);
        let message = match &now {
            Some(readiness) => readiness.message.clone(),
            None => last?.1.said().to_owned(),
        };
        let at = last
            .map(|(at, _)| *at)
            .or_else(|| now.and_then(|readiness| readiness.since));
        Some(change(id, at?, DRIFT, message))
    }
}

/// What the last apply and its prune changed.
fn applied(id: &Id, told: &[(i64, &EventFacts)]) -> Option<Change> {
    let is_apply = |event: &EventFacts| event.kind == "Normal" && event.said().lines().next().is_some_and(is_action);
    let mut applies: Vec<&(i64, &EventFacts)> = told.iter().filter(|(_, event)| is_apply(event)).collect();
    applies.sort_by_key(|(at, event)| (*at, event.said()));
    let (last, event) = applies.last()?;
    let together = applies.iter().filter(|(at, _)| last - at <= APART);
    let lines: Vec<&str> = together.map(|(_, event)| event.said()).collect();
    Some(change(id, *last, &event.reason, lines.join("\n")))
}

fn change(id: &Id, at: i64, reason: &str, message: String) -> Change {
    Change {
        at,
        kind: ChangeKind::Told,
        id: id.clone(),
        reason: reason.to_owned(),
        message,
        commit: String::new(),
        link: None,
    }
}

/// A line of what was applied or pruned (fluxcd/pkg `ssa`, *ChangeSet*).
fn is_action(line: &str) -> bool {
    line.split_once(' ')
        .is_some_and(|(object, action)| object.contains('/') && matches!(action, "created" | "configured" | "deleted"))
}
