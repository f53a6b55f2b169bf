//! A review for a comment at a pull request.

use std::fmt::Write as _;

use super::words::{capital, cut, effect, images};
use super::{ChartChange, Review};
use crate::diff::{self, Counts, FleetDiff};
use bumpwright_findings::Finding;
use bumpwright_forge::markdown::{cell, code, html};
use bumpwright_text::between;
use bumpwright_update::{AskedReleases, ChangedWorkload, impact_section, releases_list, shortened};

/// The most lines that are not folded.
const LINES: usize = 30;
/// The most findings and workloads that are seen at once. With headings, counts and four folds these are all lines.
const SEEN: usize = 6;
/// The most findings that are shown at all.
const FINDINGS: usize = 100;
/// The most bytes of the whole: GitHub refuses comments of more than 65,536 characters, and the action adds a line.
const BYTES: usize = 60_000;
/// The bytes of releases with what their authors say: later ones have their links alone.
const RELEASES: usize = 16_000;
/// The bytes of a fold besides its objects.
const FRAME: usize = 500;

pub(super) fn render(review: &Review) -> String {
    let mut comment = Comment::of(seen(review));
    let findings = worst_first(review);
    if findings.len() > SEEN {
        let rows = table_of_findings(&findings, FINDINGS);
        comment.fold(&format!("All {} findings", findings.len()), &rows);
    }
    if review.has_impact() {
        comment.fold("Impact", &impact_section(&review.impact, 3));
    }
    if !review.charts.is_empty() {
        let parts: Vec<String> = review.charts.iter().map(chart).collect();
        comment.fold(&format!("Charts: {}", review.charts.len()), &parts.join("\n"));
    }
    let asked = &review.releases;
    if !asked.releases.is_empty() {
        comment.fold(&format!("Releases: {}", asked.releases.len()), &releases(asked));
    }
    objects(&mut comment, review);
    comment.text
}

/// A comment, with the number of its lines that are not folded.
struct Comment {
    text: String,
    lines: usize,
}

impl Comment {
    fn of(text: String) -> Self {
        let lines = text.lines().count();
        Self { text, lines }
    }

    /// The bytes that are left.
    const fn room(&self) -> usize {
        BYTES.saturating_sub(self.text.len())
    }

    fn fold(&mut self, title: &str, text: &str) {
        let part = format!("<details><summary>{title}</summary>\n\n{text}\n</details>\n");
        if part.len() <= self.room() {
            self.push(&part);
        } else {
            self.push(&too_long(title));
        }
    }

    /// Adds a fold, without a blank line after another fold: it would be visible.
    fn push(&mut self, part: &str) {
        self.text.push_str(part);
        self.lines += 1;
    }
}

/// The objects of each cluster, folded. Clusters beyond the lines that are left share a fold.
fn objects(comment: &mut Comment, review: &Review) {
    let differing = review.clusters.iter().filter(|diff| has_objects(diff));
    let differing: Vec<&FleetDiff> = differing.collect();
    let left = LINES.saturating_sub(comment.lines).max(1);
    let count = if differing.len() <= left {
        differing.len()
    } else {
        left - 1
    };
    for (at, diff) in differing.iter().take(count).enumerate() {
        // What is left is shared by those that come.
        let part = cluster(diff, comment.room() / (differing.len() - at));
        comment.push(&part);
    }
    let others: Vec<&FleetDiff> = differing.into_iter().skip(count).collect();
    if others.is_empty() {
        return;
    }
    let counts: Counts = others.iter().map(|diff| diff.counts()).sum();
    let room = comment.room().saturating_sub(FRAME);
    let mut parts = String::new();
    for (at, diff) in others.iter().enumerate() {
        let part = cluster(diff, room.saturating_sub(parts.len()) / (others.len() - at));
        parts.push_str(&part);
    }
    let more = if count == 0 { "" } else { "more " };
    comment.fold(&format!("Objects of {} {more}clusters: {counts}", others.len()), &parts);
}

/// Whether there are objects to show: a Kustomization that cannot be built has none.
fn has_objects(diff: &FleetDiff) -> bool {
    diff.kustomizations.iter().any(|one| !one.objects.is_empty())
}

/// The objects of a cluster, folded, in so many bytes.
fn cluster(diff: &FleetDiff, room: usize) -> String {
    let title = |name: String| format!("Objects of {name}: {}", diff.counts());
    let mut part = String::new();
    let longest = room.saturating_sub(FRAME);
    diff::details(&mut part, diff, &title(html(&diff.title())), longest);
    if part.is_empty() || part.len() > room {
        too_long(&title(cell(&diff.title())))
    } else {
        part.truncate(part.trim_end().len());
        part + "\n"
    }
}

/// What is not folded.
fn seen(review: &Review) -> String {
    let mut out = format!("## {}\n\n", review.headline());
    let _ = writeln!(out, "{}.\n", capital(&review.summary()));
    let findings = worst_first(review);
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

/// The open findings, the worst first: a long list is folded.
fn worst_first(review: &Review) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = review.report.open().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn table_of_findings(findings: &[&Finding], most: usize) -> String {
    let mut out = "| | Finding | Place |\n|---|---|---|\n".to_owned();
    for finding in findings.iter().take(most) {
        let object = between("", finding.object.as_ref(), ": ");
        let place = finding.place.as_ref();
        let place = place.map(|place| code(&format!("{}:{}", place.path, place.line)));
        let text = cut(&format!("{object}{}", finding.message));
        let _ = writeln!(
            out,
            "| {} `{}` | {} | {} |",
            finding.severity.as_str(),
            finding.rule,
            cell(&text),
            between("`", place, "`")
        );
    }
    more(&mut out, findings.len(), most);
    out
}

fn workload(workload: &ChangedWorkload) -> String {
    let images = images(workload, |image| format!("`{}`", code(image)));
    let name = cell(&cut(&workload.object.to_string()));
    format!("| {name} | {} | {} |\n", images.join("<br>"), effect(workload))
}

/// A chart: what is new in it, as a list. Its texts are its author's: escaped, so that they mention nobody.
fn chart(chart: &ChartChange) -> String {
    let mut out = format!(
        "**{}** of {}\n\n",
        cell(&chart.title()),
        cell(&chart.releases.join(", "))
    );
    for line in chart.lines() {
        let _ = writeln!(out, "- {}", cell(&line));
    }
    out
}

/// The releases of images, as a list. What their authors say is folded, and code: it mentions nobody and links nowhere.
fn releases(asked: &AskedReleases) -> String {
    let mut out = releases_list(&shortened(&asked.releases, RELEASES));
    if asked.left_out > 0 {
        let _ = writeln!(out, "\n{} more images were not asked about", asked.left_out);
    }
    out
}

/// A line below a table that has more rows than it shows.
fn more(out: &mut String, count: usize, shown: usize) {
    if count > shown {
        let _ = writeln!(out, "\nand {} more", count - shown);
    }
}

/// In the place of a fold. A blank line before it ends the HTML of another one.
fn too_long(title: &str) -> String {
    format!("\n{title}: too long for here; `bumpwright fleet review` shows it.\n\n")
}
