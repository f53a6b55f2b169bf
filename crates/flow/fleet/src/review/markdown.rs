//! A review for a comment at a pull request.

use std::fmt::Write as _;

use super::words::{capital, cut, effect, images};
use super::{ChartChange, Review};
use crate::diff;
use bumpwright_findings::Finding;
use bumpwright_forge::markdown::{cell, code};
use bumpwright_text::between;
use bumpwright_update::{ChangedWorkload, impact_section};

/// The most findings and workloads that are seen at once; with headings and counts these are thirty lines.
const SEEN: usize = 8;
/// The most findings that are shown at all.
const FINDINGS: usize = 100;
/// The most bytes of the whole: GitHub refuses comments of more than 65,536 characters, and the action adds a line.
const BYTES: usize = 60_000;

pub(super) fn render(review: &Review) -> String {
    let mut out = seen(review);
    let findings: Vec<&Finding> = review.report.open().collect();
    if findings.len() > SEEN {
        let rows = table_of_findings(&findings, FINDINGS);
        fold(&mut out, &format!("All {} findings", findings.len()), &rows);
    }
    if review.has_impact() {
        fold(&mut out, "Impact", &impact_section(&review.impact, 3));
    }
    if !review.charts.is_empty() {
        let parts: Vec<String> = review.charts.iter().map(chart).collect();
        fold(&mut out, &format!("Charts: {}", review.charts.len()), &parts.join("\n"));
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
    let mut out = format!("## {}\n\n", review.headline());
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
