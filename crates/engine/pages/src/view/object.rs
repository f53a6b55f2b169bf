//! The page of any object.

use bumpwright_api::Condition;
use bumpwright_api::ObjectName;
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_overview::{Id, Trace};
use serde::Serialize;

use super::super::frame::Frame;
use super::super::page::ObjectPage;
use super::View;
use super::part::{Badge, Commit, Event, Form, Object, Standing, When, revision};

/// The kinds that can be asked to reconcile.
const GROUPS: [&str; 4] = [
    "helm.toolkit.fluxcd.io",
    "image.toolkit.fluxcd.io",
    "kustomize.toolkit.fluxcd.io",
    "source.toolkit.fluxcd.io",
];

/// The automations that are named.
const FEW: usize = 5;

#[derive(Serialize)]
struct ConditionRow {
    kind: String,
    status: Badge,
    reason: String,
    message: String,
    since: Option<When>,
}

impl ConditionRow {
    fn new(now: i64, condition: &Condition) -> Self {
        let time = condition.last_transition_time.as_deref();
        let time = time.and_then(|text| Time::parse(RFC_3339, text.as_bytes()).ok());
        Self {
            kind: condition.kind.clone(),
            status: Badge::new(&condition.status, tone(&condition.kind, &condition.status)),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since: When::maybe(now, time.map(|time| time.unix_seconds())),
        }
    }
}

/// True is good for what an object is, and not for what befalls it.
fn tone(kind: &str, status: &str) -> &'static str {
    let befalls = matches!(
        kind,
        "Stalled" | "Reconciling" | "Failed" | "Progressing" | "ReplicaFailure" | "FetchFailed" | "BuildFailed"
    ) || kind.ends_with("Pressure");
    match (befalls, status) {
        (false, "True") => "good",
        (false, "False") => "bad",
        (true, "True") if matches!(kind, "Reconciling" | "Progressing") => "busy",
        (true, "True") => "bad",
        _ => "mute",
    }
}

#[derive(Serialize)]
struct Origin {
    kustomization: Object,
    state: Badge,
    /// Where it applies to another cluster.
    elsewhere: Option<Badge>,
    owners: Vec<Object>,
    source: Option<Object>,
    revision: String,
    automations: Vec<(Object, Option<Commit>)>,
    automations_all: usize,
    images: Vec<(Object, String, Badge, String)>,
}

impl Origin {
    fn new(trace: &Trace) -> Self {
        let images = trace.images.iter().filter(|image| image.is_known);
        Self {
            kustomization: Object::new(&trace.kustomization.id),
            state: Badge::of_readiness(&trace.kustomization.readiness),
            elsewhere: trace.kustomization.elsewhere.then(Badge::elsewhere),
            owners: Object::all(&trace.owners),
            automations_all: trace.automations.len(),
            source: trace.source.as_ref().map(|source| Object::new(&source.id)),
            revision: revision(&trace.kustomization.applied),
            automations: trace
                .automations
                .iter()
                .take(FEW)
                .map(|one| (Object::new(&one.id), Commit::of_automation(one)))
                .collect(),
            images: images
                .map(|one| {
                    let badge = Badge::of_stage(one.stage);
                    (Object::new(&one.policy), one.image.clone(), badge, one.why.clone())
                })
                .collect(),
        }
    }
}

pub(super) fn one(frame: &Frame<'_>, page: &ObjectPage<'_>) -> View {
    let object = page.object;
    let id = Id::new(&object.kind, ObjectName::new(&object.namespace, &object.name));
    let can_act = GROUPS.contains(&object.group.as_str()) && page.readiness.is_some();
    let suspended = page.readiness.is_some_and(|readiness| readiness.suspended);
    let form = Form::new(frame, &id, suspended, &[]).filter(|_| can_act);
    let health = page
        .health
        .map(|health| (Badge::of_health(&health.status), health.message.as_str()));
    let conditions = page.conditions.iter();
    let conditions: Vec<_> = conditions.map(|one| ConditionRow::new(frame.now, one)).collect();
    let events: Vec<_> = page.events.iter().map(|one| Event::new(frame.now, one)).collect();
    View::new("object.html", object.to_string(), "")
        .with("object", &Object::of_entry(object))
        .with("group", &object.group)
        .with("standing", &page.readiness.map(|one| Standing::new(frame, one)))
        .with("health", &health)
        .with("elsewhere", &page.elsewhere.then(Badge::elsewhere))
        .with("conditions", &conditions)
        .with("events", &events)
        .with("releases", &Object::all(page.releases))
        .with("origins", &page.trace.iter().map(Origin::new).collect::<Vec<_>>())
        .with("yaml", &page.yaml)
        .with("form", &form)
}
