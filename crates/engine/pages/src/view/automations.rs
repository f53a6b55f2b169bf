//! Automations.

use bumpwright_overview::{Automation, Image};
use serde::Serialize;

use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::page::Run;
use super::super::route::Route;
use super::View;
use super::images;
use super::list::List;
use super::part::{Badge, Commit, DiffLine, Event, Form, Head, Object, Standing, When, cell, diff};

/// The states that lists of objects can be cut to.
pub(super) const STATES: [&str; 6] = ["failed", "stalled", "progressing", "suspended", "unknown", "ready"];

#[derive(Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    head: Head,
    source: Object,
    ran: Option<When>,
    pushed: Option<When>,
    commit: Option<Commit>,
    policies: usize,
    skipped: usize,
    rollout: String,
    rollout_failed: bool,
}

pub(super) fn row(now: i64, one: &Automation) -> Row {
    Row {
        head: Head::new(&one.id, &one.readiness),
        source: Object::new(&one.source),
        ran: When::maybe(now, one.ran),
        pushed: When::maybe(now, one.pushed.as_ref().and_then(|pushed| pushed.at)),
        commit: Commit::of_automation(one),
        policies: one.policies,
        skipped: one.skipped.len(),
        rollout: cell(&one.rollout),
        rollout_failed: one.rollout_failed,
    }
}

pub(super) fn list(frame: &Frame<'_>, all: &[Automation], listing: &Listing) -> View {
    let list = List::new(
        &Route::Automations.to_string(),
        all,
        listing,
        &STATES,
        |one, word| Badge::of_readiness(&one.readiness).is(word),
        |one, words| {
            let text = format!("{} {} {}", one.id, one.source, one.commit());
            text.to_lowercase().contains(words)
        },
        |one| row(frame.now, one),
    );
    View::new("automations.html", "Automations", "automations").with("list", &list)
}

#[derive(Serialize)]
struct History {
    event: Event,
    diff: Vec<DiffLine>,
    why: String,
}

pub(super) fn one(frame: &Frame<'_>, one: &Automation, (runs, note): (&[Run], &str), images: &[&Image]) -> View {
    let history = runs.iter().map(|run| History {
        event: Event::new(frame.now, &run.change),
        diff: run.diff.iter().flat_map(|text| diff(text)).collect(),
        why: run.why.clone(),
    });
    let images: Vec<_> = images.iter().map(|image| images::row(frame.now, image)).collect();
    let title = format!("ImageUpdateAutomation {}", one.id.name);
    View::new("automation.html", title, "automations")
        .with("object", &Object::new(&one.id))
        .with("standing", &Standing::new(frame, &one.readiness))
        .with("row", &row(frame.now, one))
        .with("path", &one.path)
        .with("push", &one.push)
        .with("skipped", &one.skipped)
        .with("runs", &history.collect::<Vec<_>>())
        .with("note", &note)
        .with("images", &images)
        .with("form", &Form::new(frame, &one.id, one.readiness.suspended, &[]))
}
