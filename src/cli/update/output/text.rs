//! `--output text`: for people, with colours where the terminal has them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::cli::update::output::impact;
use crate::cli::words;
use bumpwright_text::between;
use bumpwright_update::{CommitReport, ImageRelease, PullRequestReport, PushReport, PushStatus, Run, shown};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const OLD: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();

/// The results of these runs. Colours are always included: the output stream removes them.
#[must_use]
pub fn render(runs: &[Run]) -> String {
    let mut out = String::new();
    for (n, run) in runs.iter().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        if let Some(name) = &run.automation {
            line(&mut out, &format!("{BOLD}{name}{BOLD:#} {DIM}{}{DIM:#}", place(run)));
        }
        changes(&mut out, run);
        if is_in_place(run) {
            line(&mut out, "nothing to change");
        }
        run.releases.iter().for_each(|one| release(&mut out, one));
        let impact = run.impact.as_ref().map(impact::lines);
        impact.iter().flatten().for_each(|text| line(&mut out, text));
        if run.error.is_some() && run.pushes.is_empty() && !run.changes.is_empty() {
            line(&mut out, &format!("not completed: {}", words::headline(run)));
        }
        if let Some(commit) = &run.commit {
            line(&mut out, &commit_line(commit, run));
        } else if !run.changes.is_empty() && run.error.is_none() {
            line(&mut out, &format!("{} {}", edited(run), words::headline(run)));
        }
        pushes(&mut out, run);
        if let Some(request) = &run.pull_request {
            line(&mut out, &request_line(request));
        }
        for note in &run.notes {
            line(&mut out, &format!("{DIM}note:{DIM:#} {}", words::printable(note)));
        }
        for skip in &run.skips {
            line(
                &mut out,
                &format!("{WARN}skipped{WARN:#} {}", words::skip_of(run, skip)),
            );
        }
    }
    out
}

/// Whether all fields were read, and none is to change.
pub(in crate::cli::update) fn is_in_place(run: &Run) -> bool {
    let has_looked = !run.suspended && (run.outside.is_none() || run.dry_run);
    run.changes.is_empty() && run.error.is_none() && has_looked
}

/// What became of changes without a commit.
fn edited(run: &Run) -> &'static str {
    match &run.pull_request {
        // It was declined.
        Some(_) => "not pushed:",
        None if run.dry_run => "would edit",
        None => "edited",
    }
}

/// What is known of a release: a line, and its links below it.
fn release(out: &mut String, release: &ImageRelease) {
    let title = if release.title.is_empty() {
        String::new()
    } else {
        format!(": {}", words::inline(&release.title))
    };
    line(
        out,
        &format!(
            "{BOLD}{} {}{BOLD:#}{title}",
            words::inline(&release.image),
            words::inline(&release.new)
        ),
    );
    let links = release.release.iter().chain(&release.compare);
    links.for_each(|link| line(out, &format!("  {DIM}{link}{DIM:#}")));
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn place(run: &Run) -> String {
    match &run.revision {
        None => words::inline(&run.target).into_owned(),
        Some(revision) => format!("{} {revision}", words::inline(&run.target)),
    }
}

/// Per file, a line for each field.
fn changes(out: &mut String, run: &Run) {
    let mut file = None;
    for change in &run.changes {
        if file != Some(&change.path) {
            line(
                out,
                &format!("{BOLD}{}{BOLD:#}", words::inline(&shown(&run.folder, &change.path))),
            );
            file = Some(&change.path);
        }
        let object = match change.object.to_string() {
            empty if empty.is_empty() => empty,
            object => format!("{}: ", words::inline(&object)),
        };
        let place = format!("{}:{}", change.line, change.column);
        let _ = writeln!(
            out,
            "  {DIM}{place:>7}{DIM:#}  {object}{OLD}{}{OLD:#} → {NEW}{}{NEW:#}  {DIM}({}){DIM:#}",
            words::inline(&change.old),
            words::inline(&change.new),
            change.setter
        );
    }
}

fn commit_line(commit: &CommitReport, run: &Run) -> String {
    let on = between(" on ", commit.branch.as_ref(), "");
    let subject = words::subject(&commit.message);
    let signed = if commit.signed { ", signed" } else { "" };
    match &commit.id {
        Some(id) => format!(
            "commit {NEW}{id}{NEW:#}{on} by {}{signed}: {subject} ({})",
            commit.author,
            words::headline(run)
        ),
        None if run.dry_run => format!(
            "would commit{on} as {}{signed}: {subject} ({})",
            commit.author,
            words::headline(run)
        ),
        None => format!("commit{on} by {}{signed}: {subject}", commit.author),
    }
}

fn request_line(request: &PullRequestReport) -> String {
    let (head, base) = (words::inline(&request.head), words::inline(&request.base));
    match &request.kept {
        None => format!("would see to a pull request from {head} to {base}"),
        Some(kept) => format!(
            "pull request {BOLD}#{}{BOLD:#} {}: {}",
            kept.number,
            request.word(),
            words::inline(&kept.url)
        ),
    }
}

/// A line for each reference, or one for all of them where the remote has everything already.
fn pushes(out: &mut String, run: &Run) {
    let is_whole = !run.pushes.is_empty() && run.error.is_none() && run.declined.is_none();
    if is_whole && run.pushes.iter().all(|push| push.status == PushStatus::UpToDate) {
        let references: Vec<String> = run.pushes.iter().map(|push| push.reference.clone()).collect();
        let references = words::some(&references);
        let text = format!("nothing had to be pushed: the remote has it at {BOLD}{references}{BOLD:#} already");
        return line(out, &text);
    }
    for push in &run.pushes {
        line(out, &push_line(push));
    }
}

fn push_line(push: &PushReport) -> String {
    let short = |id: &str| id.chars().take(12).collect::<String>();
    if push.status == PushStatus::UpToDate {
        return format!(
            "not pushed {BOLD}{}{BOLD:#} {}: the remote has it already",
            push.reference,
            short(&push.new)
        );
    }
    match &push.old {
        Some(old) if old != &push.new => {
            format!(
                "pushed {BOLD}{}{BOLD:#} {}..{} ({})",
                push.reference,
                short(old),
                short(&push.new),
                push.status.word()
            )
        }
        _ => format!(
            "pushed {BOLD}{}{BOLD:#} {} ({})",
            push.reference,
            short(&push.new),
            push.status.word()
        ),
    }
}
