//! Differences for a pull request.

use std::fmt::Write as _;

use super::{FleetDiff, KustomizationDiff, ObjectChange, ObjectDiff, Presence};
use bumpwright_diff::field_to_text;
use bumpwright_forge::markdown::{cell, fenced};

/// The most lines of the summary. The rest is folded.
const LINES: usize = 30;

/// The most bytes of the folded part: forges refuse longer bodies (GitHub at 65,536 characters).
const LONGEST: usize = 48 << 10;

/// The most notes of a cluster.
const NOTES: usize = 3;

pub(super) fn render(diffs: &[FleetDiff]) -> String {
    let mut out = String::new();
    // A title, an empty line and the head of a table for each cluster.
    let room = (LINES / diffs.len().max(1)).saturating_sub(6);
    for diff in diffs {
        let _ = writeln!(out, "## {}\n", cell(&diff.title()));
        let notes = notes(diff);
        if diff.is_empty() {
            let _ = match diff.unknown {
                0 => write!(out, "Nothing differs.\n\n{notes}"),
                _ => write!(out, "{}.\n\n{notes}", diff.summary()),
            };
            continue;
        }
        summary(&mut out, diff, room.saturating_sub(notes.lines().count()).max(1));
        out.push_str(&notes);
        details(&mut out, diff, "All objects", LONGEST);
    }
    out
}

fn summary(out: &mut String, diff: &FleetDiff, room: usize) {
    out.push_str("| Kustomization | Objects |\n|---|---|\n");
    let differing = || diff.kustomizations.iter().filter(|one| !one.is_empty());
    for kustomization in differing().take(room) {
        let _ = writeln!(
            out,
            "| {} | {} |",
            cell(&title(kustomization)),
            cell(&words(kustomization))
        );
    }
    if let Some(others) = differing().count().checked_sub(room).filter(|others| *others > 0) {
        let _ = writeln!(out, "| and {others} more | |");
    }
    let _ = writeln!(out, "\n{} in all.\n", diff.summary());
}

/// What is not a difference in the cluster, as a list.
fn notes(diff: &FleetDiff) -> String {
    let all = diff.kustomizations.iter();
    let all = all.flat_map(|one| one.notes.iter().map(move |note| format!("{}: {note}", one.title())));
    let mut lines: Vec<String> = all.map(|note| format!("- {}\n", cell(&note))).collect();
    let more = lines.len().saturating_sub(NOTES);
    lines.truncate(NOTES);
    if more > 0 {
        lines.push(format!("- and {more} more\n"));
    }
    if !lines.is_empty() {
        lines.push("\n".to_owned());
    }
    lines.concat()
}

fn title(kustomization: &KustomizationDiff) -> String {
    let name = name(kustomization);
    match kustomization.presence {
        Presence::Added => format!("{name} (new)"),
        Presence::Removed => format!("{name} (removed)"),
        Presence::Both => name,
    }
}

/// The name of a Kustomization, and the kind and name of a release.
fn name(kustomization: &KustomizationDiff) -> String {
    match kustomization.kind {
        "Kustomization" => kustomization.name.clone(),
        _ => kustomization.title(),
    }
}

fn words(kustomization: &KustomizationDiff) -> String {
    match &kustomization.problems {
        [None, Some(problem)] => format!("**cannot be built:** {problem}"),
        [Some(_), None] => format!("can be built again, {}", kustomization.counts()),
        [Some(_), Some(problem)] => format!("cannot be built: {problem}"),
        [None, None] => kustomization.counts().to_string(),
    }
}

/// All objects that differ, folded; those beyond so many bytes are counted.
pub(crate) fn details(out: &mut String, diff: &FleetDiff, title: &str, longest: usize) {
    let mut body = String::new();
    let mut left = 0;
    for kustomization in &diff.kustomizations {
        for object in &kustomization.objects {
            if body.len() < longest {
                one(&mut body, kustomization, object)
            } else {
                left += 1
            }
        }
    }
    if body.is_empty() {
        return;
    }
    let _ = write!(out, "<details><summary>{title}</summary>\n\n```diff\n{body}```\n");
    if left > 0 {
        let _ = writeln!(out, "\n{left} more objects differ; `bumpwright fleet diff` shows them.");
    }
    out.push_str("\n</details>\n\n");
}

fn one(out: &mut String, kustomization: &KustomizationDiff, object: &ObjectDiff) {
    let (sign, note, fields) = match &object.change {
        ObjectChange::Added => ("+", String::new(), &[][..]),
        ObjectChange::Removed => ("-", String::new(), &[][..]),
        ObjectChange::Changed(fields) => ("!", String::new(), fields.as_slice()),
        ObjectChange::Moved { from, fields } => ("!", format!(", moved from {from}"), fields.as_slice()),
    };
    let line = format!("{} ({}{note})", object.object, name(kustomization));
    let _ = writeln!(out, "{sign} {}", fenced(&line));
    for field in fields {
        let _ = writeln!(out, "!     {}", fenced(&field_to_text(field)));
    }
}
