//! A review for a comment at a pull request.

use std::fmt::Write as _;

use super::Review;
use crate::diff::{self, Counts, FleetDiff};
use bumpwright_findings::Finding;
use bumpwright_forge::markdown::{cell, code};
use bumpwright_update::{ChangedWorkload, impact_section};

/// The most findings and workloads that are seen at once; with headings and counts these are thirty lines.
const SEEN: usize = 8;
/// The most findings that are shown at all.
const FINDINGS: usize = 100;
/// The longest text of a cell, in characters.
const LONGEST: usize = 300;
/// The most bytes of the whole: GitHub refuses comments of more than 65,536 characters, and the action adds a line.
const BYTES: usize = 60_000;

pub(super) fn render(review: &Review) -> String {
    let mut out = seen(review);
    let findings: Vec<&Finding> = review.report.open().collect();
    if findings.len() > SEEN {
        let rows = table_of_findings(&findings, FINDINGS);
        fold(&mut out, &format!("All {} findings", findings.len()), &rows);
    }
    if !review.impact.kustomizations.is_empty() || !review.impact.notes.is_empty() {
        fold(&mut out, "Impact", &impact_section(&review.impact, 3));
    }
    for (at, diff) in review.clusters.iter().enumerate().filter(|(_, diff)| !diff.is_empty()) {
        // What is left is shared by those that come.
        let rest = review.clusters.len() - at;
        let room = BYTES.saturating_sub(out.len()) / rest;
        let title = format!("Objects of {}: {}", cell(&diff.title()), diff.counts());
        let mut part = String::new();
        diff::details(&mut part, diff, &title, room.saturating_sub(500));
        if part.len() <= room {
            out.push_str(&part)
        } else {
            left_out(&mut out, &title)
        }
    }
    out
}

/// What is not folded.
fn seen(review: &Review) -> String {
    let counts: Counts = review.clusters.iter().map(FleetDiff::counts).sum();
    let mut out = if review.clusters.iter().all(FleetDiff::is_empty) {
        "## Nothing changes in the clusters\n\n".to_owned()
    } else {
        format!("## In the clusters: {counts}\n\n")
    };
    let _ = writeln!(out, "{}.\n", capital(&review.summary()));
    let findings: Vec<&Finding> = review.report.open().collect();
    if !findings.is_empty() {
        out += &table_of_findings(&findings, SEEN);
        out.push('\n');
    }
    let workloads = &review.impact.workloads;
    if !workloads.is_empty() {
        out += "| Workload | Images | |\n|---|---|---|\n";
        out.extend(workloads.iter().take(SEEN).map(workload));
        more(&mut out, workloads.len(), SEEN);
        out.push('\n');
    }
    out
}

fn table_of_findings(findings: &[&Finding], most: usize) -> String {
    let mut out = "| | Finding | Place |\n|---|---|---|\n".to_owned();
    for finding in findings.iter().take(most) {
        let object = finding
            .object
            .as_ref()
            .map(|object| format!("{object}: "))
            .unwrap_or_default();
        let place = finding.place.as_ref();
        let place = place.map(|place| format!("`{}`", code(&format!("{}:{}", place.path, place.line))));
        let text = cut(&format!("{object}{}", finding.message));
        let _ = writeln!(
            out,
            "| {} `{}` | {} | {} |",
            finding.severity.as_str(),
            finding.rule,
            cell(&text),
            place.unwrap_or_default()
        );
    }
    more(&mut out, findings.len(), most);
    out
}

fn workload(workload: &ChangedWorkload) -> String {
    let images = workload.images.iter().take(2).map(|image| {
        let [old, new] = [&image.old, &image.new].map(|image| code(&cut(image)));
        match (old.as_str(), new.as_str()) {
            ("", new) => format!("`{new}`"),
            (old, "") => format!("`{old}` →"),
            (old, new) => format!("`{old}` → `{new}`"),
        }
    });
    let mut images: Vec<String> = images.collect();
    if let Some(more) = workload.images.len().checked_sub(images.len()).filter(|more| *more > 0) {
        images.push(format!("and {more} more"));
    }
    let restarts = if workload.restarts {
        "restarts"
    } else {
        workload.action.word()
    };
    let name = cell(&cut(&workload.object.to_string()));
    format!("| {name} | {} | {restarts} |\n", images.join("<br>"))
}

/// A line below a table that has more rows than it shows.
fn more(out: &mut String, count: usize, shown: usize) {
    if count > shown {
        let _ = writeln!(out, "\nand {} more", count - shown);
    }
}

fn fold(out: &mut String, title: &str, text: &str) {
    let part = format!("<details><summary>{title}</summary>\n\n{text}\n</details>\n\n");
    if out.len() + part.len() <= BYTES {
        out.push_str(&part)
    } else {
        left_out(out, title)
    }
}

fn left_out(out: &mut String, title: &str) {
    let _ = writeln!(out, "{title}: too long for here; `bumpwright fleet review` shows it.\n");
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
