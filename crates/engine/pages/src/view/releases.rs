//! HelmReleases.

use bumpwright_overview::{Branch, Change, Deployed, Release};
use serde::Serialize;

use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::page::Inventory;
use super::super::route::Route;
use super::View;
use super::automations::STATES;
use super::kustomizations::with_objects;
use super::list::List;
use super::part::{Badge, Event, Form, Head, Object, Standing, When, revision};

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    head: Head,
    source: Object,
    chart: String,
    version: String,
    since: Option<When>,
    objects: usize,
}

fn row(now: i64, one: &Release) -> Row {
    Row {
        head: Head::new(&one.id, &one.readiness),
        source: Object::new(&one.source),
        chart: one.chart.clone(),
        version: one.version.clone(),
        since: When::maybe(now, one.readiness.since),
        objects: one.objects,
    }
}

pub(super) fn list(frame: &Frame<'_>, all: &[Release], listing: &Listing) -> View {
    let list = List::new(
        &Route::Releases.to_string(),
        all,
        listing,
        &STATES,
        |one, word| Badge::of_readiness(&one.readiness).is(word),
        |one, words| {
            let text = format!("{} {} {} {}", one.id, one.source, one.chart, one.version);
            text.to_lowercase().contains(words)
        },
        |one| row(frame.now, one),
    );
    View::new("releases.html", "HelmReleases", "overview").with("list", &list)
}

#[derive(Serialize)]
struct Revision {
    number: i64,
    badge: Badge,
    chart: String,
    app: String,
    first: Option<When>,
    last: Option<When>,
}

impl Revision {
    fn new(now: i64, one: &Deployed) -> Self {
        let tone = match one.status.as_str() {
            "deployed" => "good",
            "failed" => "bad",
            status if status.starts_with("pending") => "busy",
            _ => "mute",
        };
        Self {
            number: one.revision,
            badge: Badge::new(&one.status, tone),
            chart: one.chart.clone(),
            app: one.app_version.clone(),
            first: When::maybe(now, one.first),
            last: When::maybe(now, one.last),
        }
    }
}

pub(super) fn one(
    frame: &Frame<'_>,
    one: &Release,
    objects: (&Branch, &Inventory),
    changes: &[&Change],
    listing: &Listing,
) -> View {
    let now = frame.now;
    let history: Vec<_> = one.history.iter().map(|entry| Revision::new(now, entry)).collect();
    let events: Vec<_> = changes.iter().map(|change| Event::new(now, change)).collect();
    let view = View::new("release.html", format!("HelmRelease {}", one.id.name), "overview");
    with_objects(view, now, &Route::of(&one.id).to_string(), objects, listing)
        .with("object", &Object::new(&one.id))
        .with("standing", &Standing::new(frame, &one.readiness))
        .with("row", &row(now, one))
        .with("range", &one.range)
        .with("helm_chart", &one.helm_chart.as_ref().map(Object::new))
        .with("available", &revision(&one.available))
        .with("attempted", &one.attempted)
        .with("action", &one.attempted_action)
        .with("failures", &one.failures)
        .with("release_name", &one.release_name)
        .with("release_namespace", &one.namespace)
        .with("elsewhere", &one.elsewhere.then(Badge::elsewhere))
        .with("owner", &one.owner.as_ref().map(Object::new))
        .with("depends_on", &Object::all(&one.depends_on))
        .with("depends_on_left_out", &one.depends_on_left_out)
        .with("drift", &None::<()>)
        .with("applied", &None::<()>)
        .with("history", &history)
        .with("events", &events)
        .with("form", &Form::new(frame, &one.id, one.readiness.suspended, &[]))
}
