//! `--output html`: a page of its own, for the artifacts of a CI job.

use crate::cli::error::CliError;
use crate::cli::update::output::links::Links;
use crate::cli::update::output::markdown;
use crate::cli::words;
use bumpwright_edit::{Skip, unified};
use bumpwright_pages::report::{Block, Cell, Report, Section, Tone};
use bumpwright_text::between;
use bumpwright_update::{ChangedWorkload, CommitReport, ImageRelease, Impact, PullRequestReport, Run, bumps};

/// The page of these runs.
pub(crate) fn render(runs: &[Run]) -> Result<String, CliError> {
    let report = Report {
        title: "bumpwright update".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sections: runs.iter().map(section).collect(),
    };
    report.html().map_err(CliError::from)
}

fn section(run: &Run) -> Section {
    let links = Links::of(run);
    let mut blocks = Vec::new();
    let error = run.error.as_deref().filter(|error| !error.is_empty());
    blocks.extend(error.map(|error| Block::Text(Cell::text(error).badge("failed", Tone::Bad))));
    if !run.changes.is_empty() {
        blocks.push(Block::text(words::headline(run)));
        blocks.push(changes(run, &links));
    } else if error.is_none() {
        blocks.push(Block::text("Nothing to change."));
    }
    if !run.releases.is_empty() {
        blocks.push(releases(&run.releases));
    }
    blocks.extend(run.impact.iter().map(impact));
    blocks.extend(run.commit.iter().map(|it| commit(it, &links)));
    let pushes = run.pushes.iter();
    blocks.extend(pushes.map(|push| Block::Text(Cell::code(&push.reference).badge(push.status.word(), Tone::Busy))));
    blocks.extend(run.pull_request.iter().map(request));
    if !run.skips.is_empty() {
        let line = Cell::text(format!("{} skipped", run.skips.len()));
        let table = Block::Table(vec!["Place", "Reason"], run.skips.iter().map(skip).collect());
        blocks.push(Block::Folded(line, vec![table]));
    }
    blocks.extend(run.notes.iter().map(Block::text));
    blocks.extend(difference(run));
    Section {
        title: markdown::title(run).into_owned(),
        blocks,
    }
}

/// What is known of the releases of new images.
fn releases(releases: &[ImageRelease]) -> Block {
    let row = |one: &ImageRelease| {
        let title = if one.title.is_empty() {
            "release"
        } else {
            one.title.as_str()
        };
        let link = |text: &str, url: &Option<String>| match url {
            Some(url) => Cell::text(text).linked(Some(url.clone())),
            None => Cell::text(""),
        };
        vec![
            Cell::text(&one.image),
            Cell::code(&one.new),
            link(title, &one.release),
            link("changes", &one.compare),
        ]
    };
    let rows = releases.iter().map(row).collect();
    Block::Table(vec!["Image", "New", "Release", "Source"], rows)
}

/// A row for each old and new value of a policy.
fn changes(run: &Run, links: &Links) -> Block {
    let mut table = Vec::new();
    for bump in bumps(&run.changes, &run.images) {
        for (n, field) in bump.fields.iter().enumerate() {
            let first = |text: &str| if n == 0 { text } else { "" }.to_owned();
            table.push(vec![
                Cell::text(first(bump.name)),
                Cell::code(first(bump.old)),
                Cell::code(first(bump.new)),
                Cell::text(first(&bump.policy.to_string())),
                Cell::code(format!("{}:{}", field.path, field.line)).linked(links.field(field)),
                Cell::text(field.object.to_string()),
            ]);
        }
    }
    Block::Table(vec!["Image", "Old", "New", "Policy", "Field", "Object"], table)
}

/// The impact, folded.
pub(crate) fn impact(impact: &Impact) -> Block {
    let mut blocks = Vec::new();
    if !impact.workloads.is_empty() {
        let rows = impact.workloads.iter().flat_map(workload).collect();
        blocks.push(Block::Table(
            vec!["Workload", "Kustomization", "Container", "Old", "New"],
            rows,
        ));
    }
    if !impact.objects.is_empty() {
        let row = |one: &bumpwright_update::ChangedObject| {
            vec![
                Cell::text(one.object.to_string()),
                Cell::text(one.owner()),
                Cell::text(one.summary()),
            ]
        };
        let rows = impact.objects.iter().map(row).collect();
        blocks.push(Block::Table(vec!["Object", "Kustomization", "Change"], rows));
    }
    let dead = impact.dead_markers.iter().map(|marker| {
        let place = format!("{}:{}:{} ({})", marker.path, marker.line, marker.column, marker.setter);
        Block::Text(Cell::code(place).badge("changes nothing in these clusters", Tone::Warn))
    });
    blocks.extend(dead);
    blocks.extend(impact.notes.iter().map(Block::text));
    Block::Folded(Cell::text(format!("Impact: {}", impact.headline())), blocks)
}

/// A row for each image, or one without.
fn workload(one: &ChangedWorkload) -> Vec<Vec<Cell>> {
    let mut name = Cell::text(one.object.to_string());
    if one.summary() != "configured" {
        name = name.badge(one.summary(), Tone::Busy);
    }
    if one.restarts {
        name = name.badge("restarts", Tone::Warn);
    }
    let row = |container: &str, old: &str, new: &str| {
        vec![
            name.clone(),
            Cell::text(one.owner()),
            Cell::text(container),
            Cell::code(old),
            Cell::code(new),
        ]
    };
    match one.images.as_slice() {
        [] => vec![row("", "", "")],
        images => images
            .iter()
            .map(|image| row(&image.container, &image.old, &image.new))
            .collect(),
    }
}

fn commit(commit: &CommitReport, links: &Links) -> Block {
    let id = commit.id.as_deref().filter(|id| !id.is_empty());
    let branch = commit.branch.as_deref().filter(|branch| !branch.is_empty());
    let branch = between(" on ", branch, "");
    let signed = if commit.signed { ", signed" } else { "" };
    let text = format!(
        "{}{branch} by {}{signed}\n\n{}",
        id.unwrap_or("of a preview"),
        commit.author,
        commit.message.trim_end()
    );
    Block::Text(
        Cell::text(text)
            .badge("commit", Tone::Busy)
            .linked(id.and_then(|id| links.commit(id))),
    )
}

fn request(request: &PullRequestReport) -> Block {
    let pull_request = request.kept.as_ref();
    let text = match pull_request {
        Some(pull_request) => format!("pull request #{}", pull_request.number),
        None => format!("pull request from {} to {}", request.head, request.base),
    };
    let cell = Cell::text(text).badge(request.word(), Tone::Busy);
    Block::Text(cell.linked(pull_request.map(|pull_request| pull_request.url.clone())))
}

fn skip(skip: &Skip) -> Vec<Cell> {
    vec![
        Cell::code(format!("{}:{}:{}", skip.path, skip.line, skip.column)),
        Cell::text(&skip.message).badge(format!("{:?}", skip.reason), Tone::Warn),
    ]
}

/// The bytes that changed.
fn difference(run: &Run) -> Option<Block> {
    let mut diff = Vec::new();
    for file in &run.files {
        unified::append(&mut diff, &file.path, &file.old, &file.new);
    }
    let text = String::from_utf8_lossy(&diff).into_owned();
    (!text.is_empty()).then(|| Block::Folded(Cell::text("Difference"), vec![Block::Diff(text)]))
}
