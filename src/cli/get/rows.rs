//! The columns of each sort: those of flux where it has the kind, and more where they are asked for.

use super::listing::Manner;
use crate::cli::view::table::Cell;
use crate::cli::view::text::{age, first_line, of_stage, ready, short, suspended};
use bumpwright_overview::{Automation, Id, Image, ImageRepository, Kustomization, Release, Source};

fn headings(manner: Manner, always: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    let more = if manner.is_wide { more } else { &[] };
    // The longest text is the last.
    let (last, rest) = always.split_last().unwrap_or((&"", &[]));
    rest.iter().chain(more).chain([last]).copied().collect()
}

fn cells(manner: Manner, mut always: Vec<Cell>, more: Vec<Cell>) -> Vec<Cell> {
    if manner.is_wide {
        let last = always.pop();
        always.extend(more);
        always.extend(last);
    }
    always
}

/// Revisions are whole where there is room.
fn revision(manner: Manner, revision: &str) -> String {
    if manner.is_wide {
        revision.to_owned()
    } else {
        short(revision)
    }
}

fn named(id: &Id, has_kind: bool) -> Cell {
    Cell::new(if has_kind {
        format!("{}/{}", id.kind.to_lowercase(), id.name.name)
    } else {
        id.name.name.clone()
    })
}

pub(super) fn sources(manner: Manner) -> Vec<&'static str> {
    let always = ["NAME", "REVISION", "SUSPENDED", "READY", "MESSAGE"];
    headings(manner, &always, &["URL", "REF", "FETCHED", "USED BY"])
}

pub(super) fn source(one: &Source, manner: Manner) -> Vec<Cell> {
    let always = vec![
        named(&one.id, true),
        Cell::new(revision(manner, &one.revision)),
        suspended(&one.readiness),
        ready(&one.readiness),
        Cell::new(first_line(&one.readiness.message)),
    ];
    let more = vec![
        Cell::new(&one.url),
        Cell::new(&one.reference),
        Cell::new(age(manner.now, one.fetched)),
        Cell::new((one.kustomizations.len() + one.releases.len()).to_string()),
    ];
    cells(manner, always, more)
}

pub(super) fn kustomizations(manner: Manner) -> Vec<&'static str> {
    let always = ["NAME", "REVISION", "SUSPENDED", "READY", "MESSAGE"];
    headings(manner, &always, &["SOURCE", "PATH", "OBJECTS", "SINCE"])
}

pub(super) fn kustomization(one: &Kustomization, manner: Manner) -> Vec<Cell> {
    let always = vec![
        named(&one.id, manner.has_kinds),
        Cell::new(revision(manner, &one.applied)),
        suspended(&one.readiness),
        ready(&one.readiness),
        Cell::new(first_line(&one.readiness.message)),
    ];
    let more = vec![
        Cell::new(one.source.to_string()),
        Cell::new(&one.path),
        Cell::new(one.objects.to_string()),
        Cell::new(age(manner.now, one.readiness.since)),
    ];
    cells(manner, always, more)
}

pub(super) fn releases(manner: Manner) -> Vec<&'static str> {
    let always = ["NAME", "REVISION", "SUSPENDED", "READY", "MESSAGE"];
    headings(manner, &always, &["CHART", "SOURCE", "OBJECTS", "SINCE"])
}

/// The revision is the version of the chart, as flux has it.
pub(super) fn release(one: &Release, manner: Manner) -> Vec<Cell> {
    let version = if one.version.is_empty() {
        &one.attempted
    } else {
        &one.version
    };
    let always = vec![
        named(&one.id, manner.has_kinds),
        Cell::new(revision(manner, version)),
        suspended(&one.readiness),
        ready(&one.readiness),
        Cell::new(first_line(&one.readiness.message)),
    ];
    let more = vec![
        Cell::new(&one.chart),
        Cell::new(one.source.to_string()),
        Cell::new(one.objects.to_string()),
        Cell::new(age(manner.now, one.readiness.since)),
    ];
    cells(manner, always, more)
}

pub(super) fn repositories(manner: Manner) -> Vec<&'static str> {
    let always = ["NAME", "LAST SCAN", "SUSPENDED", "READY", "MESSAGE"];
    headings(manner, &always, &["IMAGE", "TAGS", "POLICIES"])
}

pub(super) fn repository(one: &ImageRepository, manner: Manner) -> Vec<Cell> {
    let always = vec![
        named(&one.id, manner.has_kinds),
        Cell::new(age(manner.now, one.scanned)),
        suspended(&one.readiness),
        ready(&one.readiness),
        Cell::new(first_line(&one.readiness.message)),
    ];
    let more = vec![
        Cell::new(&one.image),
        Cell::new(one.tags.to_string()),
        Cell::new(one.policies.len().to_string()),
    ];
    cells(manner, always, more)
}

pub(super) fn images(manner: Manner) -> Vec<&'static str> {
    let always = ["NAME", "IMAGE", "TAG", "STAGE", "SINCE", "WHY"];
    headings(
        manner,
        &always,
        &["PREVIOUS", "COMMIT", "AUTOMATIONS", "TAGS", "SCANNED"],
    )
}

pub(super) fn image(one: &Image, manner: Manner) -> Vec<Cell> {
    let name = one.chosen.as_ref().map_or(&one.image, |chosen| &chosen.name);
    let always = vec![
        named(&one.policy, manner.has_kinds),
        Cell::new(name),
        Cell::new(one.tag()),
        Cell::styled(one.stage.words(), of_stage(one.stage)),
        Cell::new(age(manner.now, one.since)),
        Cell::new(first_line(&one.why)),
    ];
    let commit = one.pushed.as_ref().map(|pushed| short(&pushed.commit));
    let automations: Vec<String> = one.automations.iter().map(|id| id.name.to_string()).collect();
    let more = vec![
        Cell::new(one.previous_tag()),
        Cell::maybe(commit),
        Cell::new(automations.join(",")),
        Cell::new(one.tag_count.to_string()),
        Cell::new(age(manner.now, one.scanned)),
    ];
    cells(manner, always, more)
}

pub(super) fn automations(manner: Manner) -> Vec<&'static str> {
    let always = ["NAME", "LAST RUN", "SUSPENDED", "READY", "MESSAGE"];
    headings(
        manner,
        &always,
        &["SOURCE", "PATH", "PUSH", "COMMIT", "PUSHED", "POLICIES", "SKIPPED"],
    )
}

pub(super) fn automation(one: &Automation, manner: Manner) -> Vec<Cell> {
    let always = vec![
        named(&one.id, manner.has_kinds),
        Cell::new(age(manner.now, one.ran)),
        suspended(&one.readiness),
        ready(&one.readiness),
        Cell::new(first_line(&one.readiness.message)),
    ];
    let pushed = one.pushed.as_ref();
    let more = vec![
        Cell::new(one.source.to_string()),
        Cell::new(&one.path),
        Cell::new(&one.push),
        Cell::new(short(one.commit())),
        Cell::new(age(manner.now, pushed.and_then(|pushed| pushed.at))),
        Cell::new(one.policies.to_string()),
        Cell::new(one.skipped.len().to_string()),
    ];
    cells(manner, always, more)
}
