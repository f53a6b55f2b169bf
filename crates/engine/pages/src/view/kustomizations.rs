//! Kustomizations.

use std::collections::BTreeMap;

use bumpwright_overview::{Applied, Branch, Entry, Graph, Kustomization};
use serde::Serialize;

use super::super::action::Action;
use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::page::Health;
use super::super::route::Route;
use super::View;
use super::automations::STATES;
use super::graph;
use super::list::List;
use super::part::{Badge, Form, Object, Standing, When, cell, diff, revision};

/// The deepest indentation.
const DEPTH: usize = 6;

#[derive(Serialize)]
struct Row {
    object: Object,
    state: Badge,
    reason: String,
    message: String,
    source: Object,
    path: String,
    applied: String,
    whole_revision: String,
    /// The revision that it has not applied yet.
    waiting: String,
    since: Option<When>,
    objects: usize,
}

fn row(now: i64, one: &Kustomization) -> Row {
    Row {
        object: Object::new(&one.id),
        state: Badge::of_readiness(&one.readiness),
        reason: one.readiness.reason.clone(),
        message: cell(one.readiness.message.lines().next().unwrap_or_default()),
        source: Object::new(&one.source),
        path: one.path.clone(),
        applied: revision(&one.applied),
        whole_revision: one.applied.clone(),
        waiting: match one.is_up_to_date() {
            true => String::new(),
            false => revision(&one.available),
        },
        since: When::maybe(now, one.readiness.since),
        objects: one.objects,
    }
}

pub(super) fn list(frame: &Frame<'_>, all: &[Kustomization], graph: &Graph, listing: &Listing) -> View {
    let list = List::new(
        &Route::Kustomizations.to_string(),
        all,
        listing,
        &STATES,
        |one, word| Badge::of_readiness(&one.readiness).is(word),
        |one, words| {
            let text = format!("{} {} {} {}", one.id, one.source, one.path, one.applied);
            text.to_lowercase().contains(words)
        },
        |one| row(frame.now, one),
    );
    let is_whole = listing.words.is_empty() && listing.only.is_empty() && listing.page == 0;
    View::new("kustomizations.html", "Kustomizations", "kustomizations")
        .with("list", &list)
        .with("graph", &graph::drawn(graph).filter(|_| is_whole))
}

/// What the model does not have of a Kustomization.
pub(super) struct Objects<'a> {
    pub tree: &'a Branch,
    pub health: &'a BTreeMap<Entry, Health>,
    pub diff: Option<&'a str>,
}

#[derive(Serialize)]
struct Leaf {
    object: Object,
    group: String,
    depth: usize,
    indent: usize,
    state: Option<Badge>,
    message: String,
}

#[derive(Serialize)]
struct History {
    revision: String,
    whole_revision: String,
    outcome: String,
    badge: Badge,
    first: Option<When>,
    last: Option<When>,
    took: String,
    times: i64,
}

impl History {
    fn new(now: i64, one: &Applied) -> Self {
        Self {
            revision: revision(&one.revision),
            whole_revision: one.revision.clone(),
            outcome: one.outcome.clone(),
            badge: match one.succeeded() {
                true => Badge::new("applied", "good"),
                false => Badge::new("failed", "bad"),
            },
            first: When::maybe(now, one.first),
            last: When::maybe(now, one.last),
            took: one.took.clone(),
            times: one.times,
        }
    }
}

pub(super) fn one(frame: &Frame<'_>, one: &Kustomization, more: &Objects<'_>, listing: &Listing) -> View {
    let mut leaves = Vec::new();
    for child in &more.tree.children {
        flat(child, 0, &mut leaves);
    }
    let at = Route::of(&one.id).to_string();
    let badge = |branch: &Branch| match (&branch.readiness, more.health.get(&branch.object)) {
        (_, Some(health)) => Some((Badge::of_health(&health.status), health.message.clone())),
        (Some(readiness), None) => Some((Badge::of_readiness(readiness), readiness.message.clone())),
        (None, None) => None,
    };
    let leaf = |(branch, depth): &(&Branch, usize)| {
        let (state, message) = badge(branch).unzip();
        Leaf {
            object: Object::of_entry(&branch.object),
            group: branch.object.group.clone(),
            depth: *depth,
            indent: (*depth).min(DEPTH),
            state,
            message: cell(&message.unwrap_or_default()),
        }
    };
    let list = List::new(
        &at,
        &leaves,
        listing,
        &["not healthy"],
        |(branch, _), _| {
            let is_fine = |badge: &Badge| badge.is("Current") || badge.is("ready");
            badge(branch).is_some_and(|(badge, _)| !is_fine(&badge))
        },
        |(branch, _), words| branch.object.to_string().to_lowercase().contains(words),
        leaf,
    );
    let history: Vec<_> = one.history.iter().map(|entry| History::new(frame.now, entry)).collect();
    let is_refused = one.readiness.reason == "PruneRefused";
    let approve: &[Action] = if is_refused { &[Action::ApprovePrune] } else { &[] };
    View::new(
        "kustomization.html",
        format!("Kustomization {}", one.id.name),
        "kustomizations",
    )
    .with("object", &Object::new(&one.id))
    .with("standing", &Standing::new(frame, &one.readiness))
    .with("row", &row(frame.now, one))
    .with("attempted", &revision(&one.attempted))
    .with("owner", &one.owner.as_ref().map(Object::new))
    .with("depends_on", &Object::all(&one.depends_on))
    .with("history", &history)
    .with("diff", &more.diff.map(diff))
    .with("list", &list)
    .with("has_health", &list.rows().iter().any(|leaf| leaf.state.is_some()))
    .with("form", &Form::new(frame, &one.id, one.readiness.suspended, approve))
}

/// The branches from the top to the bottom with their depth.
fn flat<'a>(branch: &'a Branch, depth: usize, into: &mut Vec<(&'a Branch, usize)>) {
    into.push((branch, depth));
    for child in &branch.children {
        flat(child, depth + 1, into);
    }
}
