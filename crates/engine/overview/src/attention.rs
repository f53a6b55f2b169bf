//! What needs attention: what is broken, since when, and what it blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde::Serialize;

use super::automations::Automation;
use super::readiness::{Readiness, State};
use super::world::{AUTOMATION, Id, KUSTOMIZATION, POLICY, REPOSITORY, World};

/// How long something may be at work, in seconds, before it counts as stuck.
const PATIENCE: i64 = 1800;

/// How urgent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// It fails.
    Broken,
    /// It has been at work for half an hour.
    Stuck,
    /// It waits for a person: suspended.
    Paused,
    /// It works, but left something out.
    Notice,
}

impl Severity {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Stuck => "stuck",
            Self::Paused => "paused",
            Self::Notice => "notice",
        }
    }
}

/// Something that needs attention. `bumpwright explain` has causes and remedies for its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attention {
    /// The object.
    pub id: Id,
    /// How urgent it is.
    pub severity: Severity,
    /// The reason of a condition; empty for what is suspended.
    pub reason: String,
    /// The message of that condition.
    pub message: String,
    /// Since when, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// The objects that wait for it, directly or not.
    pub blocks: Vec<Id>,
}

/// The objects that wait for each object.
type Waiting = BTreeMap<Id, Vec<Rc<Id>>>;

impl World {
    /// What needs attention, the most urgent first: by severity, then by what it blocks, then by age.
    #[must_use]
    pub fn attention(&self) -> Vec<Attention> {
        self.attention_with(&self.automations())
    }

    pub(crate) fn attention_with(&self, automations: &[Automation]) -> Vec<Attention> {
        let all: BTreeMap<Id, Readiness> = self.all().collect();
        let waiting = self.waiting();
        let mut found: Vec<Attention> = all
            .iter()
            .filter(|(id, readiness)| !self.is_consequence(id, readiness, &all))
            .filter_map(|(id, readiness)| {
                let severity = self.severity(readiness)?;
                let blocks = match severity {
                    Severity::Broken | Severity::Stuck => blocked(id, &waiting),
                    Severity::Paused | Severity::Notice => Vec::new(),
                };
                Some(Attention {
                    id: id.clone(),
                    severity,
                    // That of a suspended object is about the time before.
                    reason: match severity {
                        Severity::Paused => String::new(),
                        _ => readiness.reason.clone(),
                    },
                    message: match severity {
                        Severity::Paused => "reconciliation is suspended".to_owned(),
                        _ => readiness.message.clone(),
                    },
                    since: readiness.since.filter(|_| severity != Severity::Paused),
                    blocks,
                })
            })
            .collect();
        found.extend(rollouts(automations));
        found.sort_by(|a, b| {
            let key = |one: &Attention| {
                (
                    one.severity,
                    std::cmp::Reverse(one.blocks.len()),
                    one.since.unwrap_or(i64::MAX),
                )
            };
            key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
        });
        found
    }

    fn severity(&self, readiness: &Readiness) -> Option<Severity> {
        let is_old = readiness.since.is_some_and(|since| self.now - since > PATIENCE);
        match readiness.state {
            _ if readiness.suspended => Some(Severity::Paused),
            state if state.is_broken() => Some(Severity::Broken),
            State::Progressing | State::Deleting if is_old => Some(Severity::Stuck),
            _ => None,
        }
    }

    /// Whether it fails only because something else does, which is told already.
    fn is_consequence(&self, id: &Id, readiness: &Readiness, all: &BTreeMap<Id, Readiness>) -> bool {
        let fails = |other: &Id| all.get(other).is_some_and(|other| other.state.is_broken());
        let Some(one) = self.kustomizations.get(&id.name).filter(|_| id.kind == KUSTOMIZATION) else {
            return false;
        };
        readiness.reason == "DependencyNotReady" && one.dependencies().any(|dependency| fails(&dependency))
    }

    /// The objects that wait for each object. There may be a hundred thousand pairs of automations and policies.
    fn waiting(&self) -> Waiting {
        let mut waiting = Waiting::new();
        let mut add = |on: Id, who: &Rc<Id>| waiting.entry(on).or_default().push(Rc::clone(who));
        for (name, one) in &self.kustomizations {
            let id = Rc::new(Id::new(KUSTOMIZATION, name.clone()));
            add(one.source(), &id);
            for dependency in one.dependencies() {
                add(dependency, &id);
            }
        }
        for (name, one) in &self.policies {
            let repository = one.spec.image_repository_ref.from(&one.metadata.namespace);
            add(Id::new(REPOSITORY, repository), &Rc::new(Id::new(POLICY, name.clone())));
        }
        for (name, one) in &self.automations {
            let id = Rc::new(Id::new(AUTOMATION, name.clone()));
            add(self.source_of(one).0, &id);
            for (policy, _) in one.observed() {
                add(Id::new(POLICY, policy), &id);
            }
        }
        waiting
    }
}

/// The objects that wait for one, directly or not.
fn blocked(id: &Id, waiting: &Waiting) -> Vec<Id> {
    let mut found = BTreeSet::new();
    let mut open = vec![id];
    while let Some(next) = open.pop() {
        for one in waiting.get(next).into_iter().flatten() {
            if **one != *id && found.insert(Id::clone(one)) {
                open.push(one);
            }
        }
    }
    found.into_iter().collect()
}

/// Commits that failed in a cluster, and fields that were left out.
fn rollouts(automations: &[Automation]) -> impl Iterator<Item = Attention> {
    automations.iter().flat_map(|automation| {
        let note = |severity, reason: &str, message: String| Attention {
            id: automation.id.clone(),
            severity,
            reason: reason.to_owned(),
            message,
            since: automation.pushed.as_ref().and_then(|pushed| pushed.at),
            blocks: Vec::new(),
        };
        let failed = automation
            .rollout_failed
            .then(|| note(Severity::Broken, "RolloutFailed", automation.rollout.clone()));
        let is_fine = automation.readiness.state == State::Ready;
        let skipped = (is_fine && !automation.skipped.is_empty())
            .then(|| note(Severity::Notice, "MarkersSkipped", automation.skipped.join("\n")));
        [failed, skipped].into_iter().flatten()
    })
}
