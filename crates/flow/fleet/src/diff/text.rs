//! Differences for terminals.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::{FleetDiff, KustomizationDiff, ObjectChange, ObjectDiff, Presence};
use bumpwright_diff::field_to_text;
use bumpwright_findings::terminal::inline;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const OLD: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Green.on_default();
const CHANGED: Style = AnsiColor::Yellow.on_default();

pub(super) fn render(diffs: &[FleetDiff]) -> String {
    let mut out = String::new();
    for diff in diffs {
        let _ = writeln!(out, "{BOLD}{}{BOLD:#}", inline(&diff.title()));
        for kustomization in &diff.kustomizations {
            one(&mut out, kustomization);
        }
        let summary = diff.summary();
        let _ = if diff.is_empty() {
            writeln!(out, "{summary}")
        } else {
            writeln!(out, "{DIM}{summary}{DIM:#}")
        };
    }
    out
}

fn one(out: &mut String, kustomization: &KustomizationDiff) {
    let (style, sign) = match kustomization.presence {
        Presence::Added => (NEW, '+'),
        Presence::Removed => (OLD, '-'),
        Presence::Both => (CHANGED, '~'),
    };
    let (name, counts) = (inline(&kustomization.name), kustomization.words());
    let kind = kustomization.kind;
    let _ = writeln!(
        out,
        "{style}{sign}{style:#} {kind} {BOLD}{name}{BOLD:#} {DIM}{counts}{DIM:#}"
    );
    let [before, after] = &kustomization.problems;
    for (problem, words) in [(before, "could not be built"), (after, "cannot be built")] {
        if let Some(problem) = problem.as_ref().filter(|_| before != after) {
            let _ = writeln!(out, "    {OLD}{words}:{OLD:#} {}", inline(problem));
        }
    }
    kustomization.objects.iter().for_each(|object| line(out, object));
    for note in &kustomization.notes {
        let _ = writeln!(out, "  {DIM}note:{DIM:#} {}", inline(note));
    }
}

fn line(out: &mut String, object: &ObjectDiff) {
    let name = object.object.to_string();
    let name = inline(&name);
    let (style, sign, note, fields) = match &object.change {
        ObjectChange::Added => (NEW, '+', String::new(), &[][..]),
        ObjectChange::Removed => (OLD, '-', String::new(), &[][..]),
        ObjectChange::Changed(fields) => (CHANGED, '~', String::new(), fields.as_slice()),
        ObjectChange::Moved { from, fields } => {
            let note = format!(" {DIM}moved from {}{DIM:#}", inline(from));
            (CHANGED, '>', note, fields.as_slice())
        }
    };
    let _ = writeln!(out, "  {style}{sign}{style:#} {name}{note}");
    for field in fields {
        let _ = writeln!(out, "      {}", inline(&field_to_text(field)));
    }
}
