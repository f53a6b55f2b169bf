//! Kustomizations.

use std::collections::BTreeMap;

use bumpwright_overview::{Applied, Branch, Change, Differences, Entry, Graph, Kustomization};
use bumpwright_text::Excerpt;
use serde::Serialize;

use super::super::action::Action;
use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::page::Inventory;
use super::super::route::Route;
use super::View;
use super::automations::STATES;
use super::graph;
use super::list::{List, href};
use super::part::{Badge, DiffLine, Form, Head, Object, Standing, When, actions, cell, revision};

/// The deepest indentation.
const DEPTH: usize = 6;

/// The objects that are not well and shown before all others.
const SICK: usize = 20;

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    head: Head,
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
        head: Head::new(&one.id, &one.readiness),
        source: Object::new(&one.source),
        path: one.path.clone(),
        applied: revision(&one.applied),
        whole_revision: one.applied.clone(),
        waiting: if one.is_up_to_date() {
            String::new()
        } else {
            revision(&one.available)
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
    View::new("kustomizations.html", "Kustomizations", "kustomizations")
        .with("list", &list)
        .with("graph", &graph::drawn(graph).filter(|_| listing.is_plain()))
        .with("whole_graph", &(listing.whole_graph && listing.is_plain()))
}

/// What the model does not have of a Kustomization.
pub(super) struct Objects<'a> {
    pub tree: &'a Branch,
    pub inventory: &'a Inventory,
    pub differences: &'a Differences,
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
            badge: if one.succeeded() {
                Badge::new("applied", "good")
            } else {
                Badge::new("failed", "bad")
            },
            first: When::maybe(now, one.first),
            last: When::maybe(now, one.last),
            took: one.took.clone(),
            times: one.times,
        }
    }
}

/// A difference: of drift the first line is the title.
#[derive(Serialize)]
struct Difference {
    when: When,
    title: String,
    lines: Vec<DiffLine>,
}

impl Difference {
    fn drift(now: i64, change: &Change) -> Self {
        let (title, rest) = change.message.split_once('\n').unwrap_or((&change.message, ""));
        Self {
            when: When::new(now, change.at),
            title: cell(title),
            lines: actions(rest),
        }
    }

    fn applied(now: i64, change: &Change) -> Self {
        Self {
            when: When::new(now, change.at),
            title: String::new(),
            lines: actions(&change.message),
        }
    }
}

/// How an object of a tree is, in a word and in words.
fn state(inventory: &Inventory, branch: &Branch) -> Option<(Badge, String)> {
    if branch.elsewhere {
        return Some((Badge::elsewhere(), String::new()));
    }
    match (inventory.health.get(&branch.object), &branch.readiness) {
        (Some(health), _) => Some((Badge::of_health(&health.status), health.message.clone())),
        (None, Some(readiness)) => Some((Badge::of_readiness(readiness), readiness.message.clone())),
        (None, None) => None,
    }
}

impl Leaf {
    fn new(inventory: &Inventory, branch: &Branch, depth: usize) -> Self {
        let (state, message) = state(inventory, branch).unzip();
        Self {
            object: if branch.elsewhere {
                Object::elsewhere(&branch.object)
            } else {
                Object::of_entry(&branch.object)
            },
            group: branch.object.group.clone(),
            depth,
            indent: depth.min(DEPTH),
            state,
            message: cell(&message.unwrap_or_default()),
        }
    }
}

/// The objects that are not well, the worst first, each once; and how many there are.
fn sick(inventory: &Inventory, leaves: &[(&Branch, usize)]) -> (Vec<Leaf>, usize) {
    let urgent = leaves
        .iter()
        .filter_map(|(branch, _)| Some((state(inventory, branch)?.0.urgency()?, *branch)));
    let mut urgent: Vec<(u8, &Branch)> = urgent.collect();
    urgent.sort_by_key(|(urgency, branch)| (*urgency, &branch.object));
    urgent.dedup_by(|a, b| a.1.object == b.1.object);
    let few = urgent.iter().take(SICK);
    (
        few.map(|(_, branch)| Leaf::new(inventory, branch, 0)).collect(),
        urgent.len(),
    )
}

/// How many objects there are in each state, in the order of urgency.
fn tally(inventory: &Inventory, leaves: &[(&Branch, usize)]) -> Vec<Badge> {
    let mut counts = BTreeMap::<(u8, String), (usize, Badge)>::new();
    let key = |branch: &'_ Branch| (branch.elsewhere, branch.object.clone());
    let distinct: BTreeMap<(bool, Entry), &Branch> = leaves.iter().map(|(branch, _)| (key(branch), *branch)).collect();
    for branch in distinct.into_values() {
        let badge = state(inventory, branch).map(|(badge, _)| badge);
        let badge = badge.unwrap_or_else(|| Badge::new("not looked at", "mute"));
        let key = (badge.urgency().unwrap_or(u8::MAX), badge.word().to_owned());
        counts.entry(key).or_insert((0, badge)).0 += 1;
    }
    let counts = counts.into_values();
    counts.map(|(count, badge)| badge.counted(count)).collect()
}

/// The objects of a tree at a page, with how they are.
pub(super) fn with_objects(
    view: View,
    now: i64,
    at: &str,
    (tree, inventory): (&Branch, &Inventory),
    listing: &Listing,
) -> View {
    let mut leaves = Vec::new();
    for child in &tree.children {
        flat(child, 0, &mut leaves);
    }
    let list = List::new(
        at,
        &leaves,
        listing,
        &["not healthy"],
        |(branch, _), _| state(inventory, branch).is_some_and(|(badge, _)| badge.urgency().is_some()),
        |(branch, _), words| branch.object.to_string().to_lowercase().contains(words),
        |(branch, depth)| Leaf::new(inventory, branch, *depth),
    );
    let (sick, sick_all) = sick(inventory, &leaves);
    let has_health = leaves.iter().any(|(branch, _)| state(inventory, branch).is_some());
    view.with("sick", &sick)
        .with("sick_all", &sick_all)
        .with("sick_href", &href(at, "", "not healthy", 0))
        .with("tally", &tally(inventory, &leaves))
        .with("looked", &When::maybe(now, inventory.at))
        .with("note", &inventory.note)
        .with("list", &list)
        .with("has_health", &has_health)
}

pub(super) fn one(frame: &Frame<'_>, one: &Kustomization, more: &Objects<'_>, listing: &Listing) -> View {
    let now = frame.now;
    let history: Vec<_> = one.history.iter().map(|entry| History::new(now, entry)).collect();
    let is_refused = one.readiness.reason == "PruneRefused";
    let approve: &[Action] = if is_refused { &[Action::ApprovePrune] } else { &[] };
    let drift = more.differences.drift.as_ref();
    let view = View::new(
        "kustomization.html",
        format!("Kustomization {}", one.id.name),
        "kustomizations",
    );
    let at = Route::of(&one.id).to_string();
    with_objects(view, now, &at, (more.tree, more.inventory), listing)
        .with("object", &Object::new(&one.id))
        .with("standing", &standing(frame, one, drift))
        .with("row", &row(now, one))
        .with("attempted", &revision(&one.attempted))
        .with("owner", &one.owner.as_ref().map(Object::new))
        .with("depends_on", &Object::all(&one.depends_on))
        .with("depends_on_left_out", &one.depends_on_left_out)
        .with("history", &history)
        .with("drift", &drift.map(|change| Difference::drift(now, change)))
        .with(
            "applied",
            &more
                .differences
                .applied
                .as_ref()
                .map(|change| Difference::applied(now, change)),
        )
        .with("form", &Form::new(frame, &one.id, one.readiness.suspended, approve))
}

/// How it stands; the lines of a drift have a part of their own on the page.
fn standing(frame: &Frame<'_>, one: &Kustomization, drift: Option<&Change>) -> Standing {
    let mut readiness = one.readiness.clone();
    if drift.is_some_and(|drift| drift.message == readiness.message) {
        readiness.message = readiness.message.first_line().to_owned();
    }
    Standing::new(frame, &readiness)
}

/// The branches from the top to the bottom with their depth.
fn flat<'a>(branch: &'a Branch, depth: usize, into: &mut Vec<(&'a Branch, usize)>) {
    into.push((branch, depth));
    for child in &branch.children {
        flat(child, depth + 1, into);
    }
}
