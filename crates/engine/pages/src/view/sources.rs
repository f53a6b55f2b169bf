//! Sources.

use bumpwright_overview::{Automation, Change, Source};
use serde::Serialize;

use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::route::Route;
use super::View;
use super::automations::{self, STATES};
use super::list::{List, href};
use super::part::{Badge, Event, Form, Head, Object, Standing, When, is_safe, revision};

/// The automations on the page of a source.
const FEW: usize = 20;

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    head: Head,
    url: String,
    reference: String,
    revision: String,
    whole_revision: String,
    fetched: Option<When>,
    link: Option<String>,
    kustomizations: usize,
}

fn row(now: i64, one: &Source) -> Row {
    Row {
        head: Head::new(&one.id, &one.readiness),
        url: one.url.clone(),
        reference: one.reference.clone(),
        revision: revision(&one.revision),
        whole_revision: one.revision.clone(),
        fetched: When::maybe(now, one.fetched),
        link: one.link.clone().filter(|link| is_safe(link)),
        kustomizations: one.kustomizations.len(),
    }
}

pub(super) fn list(frame: &Frame<'_>, all: &[Source], listing: &Listing) -> View {
    let list = List::new(
        &Route::Sources.to_string(),
        all,
        listing,
        &STATES,
        |one, word| Badge::of_readiness(&one.readiness).is(word),
        |one, words| {
            let text = format!("{} {} {} {}", one.id, one.url, one.reference, one.revision);
            text.to_lowercase().contains(words)
        },
        |one| row(frame.now, one),
    );
    View::new("sources.html", "Sources", "sources").with("list", &list)
}

pub(super) fn one(frame: &Frame<'_>, one: &Source, automations: &[&Automation], changes: &[&Change]) -> View {
    let shown = automations.iter().take(FEW);
    let shown: Vec<_> = shown.map(|one| automations::row(frame.now, one)).collect();
    let of_source = href(&Route::Automations.to_string(), &one.id.name.to_string(), "", 0);
    let events: Vec<_> = changes.iter().map(|change| Event::new(frame.now, change)).collect();
    View::new("source.html", format!("{} {}", one.id.kind, one.id.name), "sources")
        .with("object", &Object::new(&one.id))
        .with("standing", &Standing::new(frame, &one.readiness))
        .with("row", &row(frame.now, one))
        .with("kustomizations", &Object::all(&one.kustomizations))
        .with("automations", &shown)
        .with("automations_all", &automations.len())
        .with("automations_href", &of_source)
        .with("events", &events)
        .with("form", &Form::new(frame, &one.id, one.readiness.suspended, &[]))
}
