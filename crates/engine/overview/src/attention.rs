//! What needs attention: what is broken, since when, and what it blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bumpwright_api::ObjectName;
use serde::Serialize;

use super::automations::Automation;
use super::causes::{missing_secret, reached, unhealthy_releases};
use super::facts::{EventFacts, KustomizationFacts};
use super::kustomizations::Applied;
use super::readiness::{Readiness, State};
use super::world::{AUTOMATION, EXTERNAL_ARTIFACT, HELM_CHART, Id, KUSTOMIZATION, POLICY, RELEASE, REPOSITORY, World};

/// How long something may be at work, in seconds, before it counts as stuck.
const PATIENCE: i64 = 1800;

/// How long an object may be there, in seconds, before a controller has said something about it.
const SILENCE: i64 = 120;

/// The reason of an automation's fields that were left out.
const SKIPPED: &str = "MarkersSkipped";

/// How urgent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    Broken,
    /// It has been at work for half an hour.
    Stuck,
    /// It is at work, and others wait for it.
    InProgress,
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
            Self::InProgress => "in progress",
            Self::Paused => "paused",
            Self::Notice => "notice",
        }
    }
}

/// Something that needs attention. `bumpwright explain` has causes and remedies for its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attention {
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
    /// Other objects of which the same is to be said: they miss the same Secret, wait for each other, or nobody
    /// looks at them either.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Id>,
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
        let states: BTreeMap<Id, Readiness> = self.all().collect();
        let (waiting, causes) = (self.waiting(), self.causes(&states));
        let circles = causes.circles();
        let in_circles: BTreeSet<&Id> = circles.iter().flatten().collect();
        let mut items: Vec<Attention> = Vec::new();
        for (id, readiness) in states.iter().filter(|(id, _)| !in_circles.contains(id)) {
            let held_up = causes.consequences(id);
            if readiness.suspended || !causes.is_consequence(id) {
                items.extend(self.of_object(id, readiness, &waiting, held_up));
            }
        }
        items.extend(circles.iter().filter_map(|circle| of_circle(circle, &states, &waiting)));
        let mut items = one_for_each_secret(items);
        items.extend(self.untouched(&states));
        items.extend(self.unattended(&states));
        items.extend(automations.iter().flat_map(|one| self.rollout(one)));
        items.extend(self.unknown_fields());
        items.sort_by(|a, b| {
            let key = |one: &Attention| {
                (
                    one.severity,
                    std::cmp::Reverse(one.blocks.len()),
                    one.since.unwrap_or(i64::MAX),
                )
            };
            key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
        });
        items
    }

    /// What is to be said of an object that is not a consequence of others; `held_up` are not ready because of it.
    fn of_object(&self, id: &Id, readiness: &Readiness, waiting: &Waiting, held_up: Vec<Id>) -> Option<Attention> {
        let severity = self.severity(readiness, !held_up.is_empty())?;
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
                Severity::Stuck if readiness.is_behind => "its newest spec has not been reconciled yet".to_owned(),
                _ => readiness.message.clone(),
            },
            since: match severity {
                Severity::Paused => None,
                _ => self.since(id, readiness),
            },
            blocks: match severity {
                Severity::Broken | Severity::Stuck => blocked(id, waiting),
                Severity::InProgress | Severity::Paused | Severity::Notice => held_up,
            },
            also: Vec::new(),
        })
    }

    fn severity(&self, readiness: &Readiness, holds_up: bool) -> Option<Severity> {
        let is_old = readiness.since.is_some_and(|since| self.now - since > PATIENCE);
        match readiness.state {
            _ if readiness.suspended => Some(Severity::Paused),
            state if state.is_broken() => Some(Severity::Broken),
            State::Progressing | State::Deleting if is_old => Some(Severity::Stuck),
            State::Progressing | State::Deleting if holds_up => Some(Severity::InProgress),
            _ => None,
        }
    }

    /// When what is said of an object began. Ready changes with each attempt, and the records of earlier ones are in
    /// the history of a Kustomization.
    fn since(&self, id: &Id, readiness: &Readiness) -> Option<i64> {
        let kustomization = self.kustomizations.get(&id.name).filter(|_| id.kind == KUSTOMIZATION);
        let failed = kustomization
            .filter(|_| readiness.state.is_broken())
            .and_then(KustomizationFacts::failing_since);
        match (failed, readiness.since) {
            (Some(first), Some(last)) => Some(first.min(last)),
            (first, last) => first.or(last),
        }
    }

    /// Objects about which no controller has said anything yet, one entry for each kind.
    fn untouched(&self, all: &BTreeMap<Id, Readiness>) -> Vec<Attention> {
        let mut unreconciled: BTreeMap<&str, Vec<(&Id, i64)>> = BTreeMap::new();
        for (id, readiness) in all {
            // Those that nobody has to look at say nothing either.
            if readiness.state == State::Unknown
                && !readiness.suspended
                && let Some(created) = readiness.created.filter(|created| self.now - created > SILENCE)
                && id.kind != EXTERNAL_ARTIFACT
                && !self.is_unattended(&id.kind)
            {
                unreconciled.entry(&id.kind).or_default().push((id, created));
            }
        }
        let of_kind = unreconciled.into_values().filter_map(|mut of_kind| {
            of_kind.sort_by_key(|(_, created)| *created);
            let (first, created) = of_kind.first().copied()?;
            Some(Attention {
                id: first.clone(),
                severity: Severity::Broken,
                reason: "NotReconciled".to_owned(),
                message: "no controller has said anything about it since it was created; bumpwright check tells which ones run".to_owned(),
                since: Some(created),
                blocks: Vec::new(),
                also: of_kind.into_iter().skip(1).map(|(id, _)| id.clone()).collect(),
            })
        });
        of_kind.collect()
    }

    /// Fields that the cluster does not have, which the last apply of a Kustomization left out: only an
    /// event tells of them.
    fn unknown_fields(&self) -> Vec<Attention> {
        let mut last: BTreeMap<ObjectName, &EventFacts> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.reason == "UnknownFields") {
            let name = event.involved_object.from(&event.metadata.namespace);
            let is_newer = |known: &&EventFacts| known.at() < event.at();
            if event.involved_object.kind == KUSTOMIZATION && last.get(&name).is_none_or(is_newer) {
                last.insert(name, event);
            }
        }
        let of_event = last.into_iter().filter_map(|(name, event)| {
            let facts = self.kustomizations.get(&name)?;
            let readiness = facts.readiness();
            // What has been built since then is another build.
            let built = facts.status.history.iter().next().map(Applied::from);
            let is_old = built.and_then(|built| built.first) > event.at();
            (readiness.state == State::Ready && !readiness.suspended && !is_old).then(|| Attention {
                id: Id::new(KUSTOMIZATION, name),
                severity: Severity::Notice,
                reason: event.reason.clone(),
                message: event.said().to_owned(),
                since: event.first(),
                blocks: Vec::new(),
                also: Vec::new(),
            })
        });
        of_event.collect()
    }

    /// A commit of an automation that failed in a cluster, and fields that were left out.
    fn rollout(&self, automation: &Automation) -> impl Iterator<Item = Attention> {
        let note = |severity, reason: &str, message: String, since| Attention {
            id: automation.id.clone(),
            severity,
            reason: reason.to_owned(),
            message,
            since,
            blocks: Vec::new(),
            also: Vec::new(),
        };
        let pushed = automation.pushed.as_ref().and_then(|pushed| pushed.at);
        let failed = automation.rollout_failed.then(|| {
            let message = automation.rollout.clone();
            note(Severity::Broken, "RolloutFailed", message, pushed)
        });
        let is_fine = automation.readiness.state == State::Ready;
        let skipped = (is_fine && !automation.skipped.is_empty()).then(|| {
            let message = automation.skipped.join("\n");
            note(Severity::Notice, SKIPPED, message, self.skipped_since(&automation.id))
        });
        [failed, skipped].into_iter().flatten()
    }

    /// Since when fields are left out: a status does not say it, and events are kept for an hour only.
    fn skipped_since(&self, automation: &Id) -> Option<i64> {
        let is_about = |event: &&EventFacts| {
            let object = &event.involved_object;
            event.reason == SKIPPED
                && object.kind == automation.kind
                && object.from(&event.metadata.namespace) == automation.name
        };
        let events = self.events.iter().filter(is_about);
        events.max_by_key(|event| event.at())?.first()
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
            let readiness = one.readiness();
            let unhealthy = (readiness.reason == "HealthCheckFailed").then(|| unhealthy_releases(&readiness.message));
            for release in unhealthy.into_iter().flatten() {
                add(release, &id);
            }
        }
        for (name, one) in &self.releases {
            let id = Rc::new(Id::new(RELEASE, name.clone()));
            add(one.chart_source(), &id);
            for dependency in one.dependencies() {
                add(dependency, &id);
            }
        }
        for (id, one) in self.sources.iter().filter(|(id, _)| id.kind == HELM_CHART) {
            add(one.chart_source(), &Rc::new(id.clone()));
        }
        for (name, one) in &self.policies {
            let repository = one.spec.image_repository_ref.from(&one.metadata.namespace);
            add(Id::new(REPOSITORY, repository), &Rc::new(Id::new(POLICY, name.clone())));
        }
        for (name, one) in &self.automations {
            let id = Rc::new(Id::new(AUTOMATION, name.clone()));
            add(self.source_of(one).0, &id);
            // It goes on with its other policies.
            let policies: Vec<ObjectName> = one.observed().map(|(policy, _)| policy).collect();
            if !policies.iter().any(|policy| self.is_chosen_from(policy)) {
                let policies = policies.into_iter().map(|policy| Id::new(POLICY, policy));
                policies.for_each(|policy| add(policy, &id));
            }
        }
        waiting
    }

    /// Whether a policy and its repository work.
    fn is_chosen_from(&self, policy: &ObjectName) -> bool {
        let is_broken = |readiness: Option<Readiness>| readiness.is_none_or(|one| one.state.is_broken());
        self.policies.get(policy).is_some_and(|one| {
            let repository = one.spec.image_repository_ref.from(&one.metadata.namespace);
            let ids = [Id::new(POLICY, policy.clone()), Id::new(REPOSITORY, repository)];
            !ids.iter().any(|id| is_broken(self.readiness(id)))
        })
    }
}

/// The objects that wait for one, directly or not.
fn blocked(id: &Id, waiting: &Waiting) -> Vec<Id> {
    let waiters = reached(id, |one| waiting.get(one).into_iter().flatten().map(|one| &**one));
    waiters.into_iter().filter(|one| *one != id).cloned().collect()
}

/// A circle of objects that wait for each other.
fn of_circle(circle: &[Id], all: &BTreeMap<Id, Readiness>, waiting: &Waiting) -> Option<Attention> {
    let (first, others) = circle.split_first()?;
    let names = circle.iter().chain(circle.first());
    let names: Vec<String> = names.map(|id| id.name.to_string()).collect();
    let since = circle.iter().filter_map(|id| all.get(id)?.since).min();
    let blocks: BTreeSet<Id> = circle.iter().flat_map(|id| blocked(id, waiting)).collect();
    Some(Attention {
        id: first.clone(),
        severity: Severity::Broken,
        reason: "DependencyNotReady".to_owned(),
        message: format!(
            "they wait for each other by dependsOn, and none will be ready: {}",
            names.join(" -> ")
        ),
        since,
        blocks: blocks.into_iter().filter(|id| !circle.contains(id)).collect(),
        also: others.to_vec(),
    })
}

/// Of the objects that miss one Secret the one that blocks most, with the others.
fn one_for_each_secret(found: Vec<Attention>) -> Vec<Attention> {
    let mut of_secrets: BTreeMap<(String, String), Vec<Attention>> = BTreeMap::new();
    let mut items = Vec::new();
    for one in found {
        let secret = missing_secret(&one.message).filter(|_| one.severity == Severity::Broken);
        match secret.map(str::to_owned) {
            Some(secret) => of_secrets
                .entry((one.id.name.namespace.clone(), secret))
                .or_default()
                .push(one),
            None => items.push(one),
        }
    }
    for mut same in of_secrets.into_values() {
        same.sort_by_key(|one| std::cmp::Reverse(one.blocks.len()));
        let mut same = same.into_iter();
        let Some(mut first) = same.next() else { continue };
        let others: Vec<Attention> = same.collect();
        let blocks: BTreeSet<Id> = [&first]
            .into_iter()
            .chain(&others)
            .flat_map(|one| one.blocks.clone())
            .collect();
        first.also = others.iter().map(|one| one.id.clone()).collect();
        let is_other = |id: &Id| *id != first.id && !first.also.contains(id);
        first.blocks = blocks.into_iter().filter(is_other).collect();
        first.since = others.iter().map(|one| one.since).chain([first.since]).flatten().min();
        items.push(first);
    }
    items
}
