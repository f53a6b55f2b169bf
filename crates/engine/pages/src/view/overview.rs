//! The first page, and what needs attention.

use bumpwright_overview::{Attention, Image, Overview, Stage, Tally};
use serde::Serialize;

use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::route::Route;
use super::View;
use super::images;
use super::list::{List, href};
use super::part::{Badge, Event, Object, When, cell};

/// The rows of each list on the first page.
const FEW: usize = 20;

/// The objects that are named of all that something blocks.
const BLOCKED: usize = 3;

/// Something that needs attention.
#[derive(Serialize)]
struct Trouble {
    object: Object,
    severity: Badge,
    reason: String,
    message: String,
    since: Option<When>,
    blocks: usize,
    blocked: Vec<Object>,
    also_all: usize,
    also: Vec<Object>,
    todo: Option<String>,
}

impl Trouble {
    fn new(frame: &Frame<'_>, one: &Attention) -> Self {
        Self {
            object: Object::new(&one.id),
            severity: Badge::of_severity(one.severity),
            reason: one.reason.clone(),
            message: cell(&one.message),
            since: When::maybe(frame.now, one.since),
            blocks: one.blocks.len(),
            blocked: one.blocks.iter().take(BLOCKED).map(Object::new).collect(),
            also_all: one.also.len(),
            also: one.also.iter().take(BLOCKED).map(Object::new).collect(),
            todo: (frame.explain)(&one.reason),
        }
    }
}

/// A number on the first page.
#[derive(Serialize)]
struct Count {
    /// What is counted, of one and of others.
    one: &'static str,
    many: &'static str,
    href: String,
    all: usize,
    /// Such as `3 failed`.
    notes: Vec<Badge>,
}

impl Count {
    fn of_tally((one, many): (&'static str, &'static str), route: &Route, tally: &Tally) -> Self {
        let mut notes = Vec::new();
        let mut note = |count: usize, word: &str, tone| {
            if count > 0 {
                notes.push(Badge::new(format!("{count} {word}"), tone));
            }
        };
        note(tally.failed, "failed", "bad");
        note(tally.suspended, "suspended", "mute");
        let busy = tally.all.saturating_sub(tally.ready + tally.failed);
        note(busy, "not ready yet", "busy");
        if notes.is_empty() && tally.all > 0 {
            notes.push(Badge::new("all ready", "good"));
        }
        Self {
            one,
            many,
            href: route.to_string(),
            all: tally.all,
            notes,
        }
    }
}

pub(super) fn overview(frame: &Frame<'_>, overview: &Overview) -> View {
    let counts = &overview.counts;
    let stage = |count: usize, stage: Stage| {
        let badge = Badge::of_stage(stage);
        let word = stage.words();
        (count > 0).then(|| (badge, href(&Route::Images.to_string(), "", word, 0), count))
    };
    let stages = [
        stage(counts.behind, Stage::Behind),
        stage(counts.on_the_way, Stage::OnTheWay),
        stage(counts.held, Stage::Held),
        stage(counts.current, Stage::Current),
    ];
    let stages: Vec<_> = stages.into_iter().flatten().collect();
    let tallies = [
        Count::of_tally(("Image policy", "Image policies"), &Route::Images, &counts.policies),
        Count::of_tally(("Automation", "Automations"), &Route::Automations, &counts.automations),
        Count::of_tally(
            ("Kustomization", "Kustomizations"),
            &Route::Kustomizations,
            &counts.kustomizations,
        ),
    ];
    // Many clusters have none.
    let releases = (counts.releases.all > 0)
        .then(|| Count::of_tally(("HelmRelease", "HelmReleases"), &Route::Releases, &counts.releases));
    let sources = Count::of_tally(("Source", "Sources"), &Route::Sources, &counts.sources);
    let tallies: Vec<Count> = tallies.into_iter().chain(releases).chain([sources]).collect();
    let mut waiting: Vec<&Image> = overview
        .images
        .iter()
        .filter(|image| matches!(image.stage, Stage::Behind | Stage::OnTheWay | Stage::Held))
        .collect();
    waiting.sort_by_key(|image| (image.stage, image.since.unwrap_or(i64::MAX)));
    let troubles: Vec<Trouble> = overview
        .attention
        .iter()
        .take(FEW)
        .map(|one| Trouble::new(frame, one))
        .collect();
    let images: Vec<_> = waiting
        .iter()
        .take(FEW)
        .map(|image| images::row(frame.now, image))
        .collect();
    let events: Vec<Event> = overview
        .changes
        .iter()
        .take(FEW)
        .map(|change| Event::new(frame.now, change))
        .collect();
    View::new("overview.html", "Overview", "overview")
        .with("stages", &stages)
        .with("tallies", &tallies)
        .with("troubles", &troubles)
        .with("troubles_all", &overview.attention.len())
        .with("images", &images)
        .with("images_all", &waiting.len())
        .with("events", &events)
        .with("events_all", &overview.changes.len())
}

pub(super) fn attention(frame: &Frame<'_>, all: &[Attention], listing: &Listing) -> View {
    let list = List::new(
        &Route::Attention.to_string(),
        all,
        listing,
        &["broken", "stuck", "paused", "notice"],
        |one, word| one.severity.word() == word,
        |one, words| {
            let text = format!("{} {} {}", one.id, one.reason, one.message);
            text.to_lowercase().contains(words)
        },
        |one| Trouble::new(frame, one),
    );
    View::new("attention.html", "Needs attention", "overview").with("list", &list)
}
