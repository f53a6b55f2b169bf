//! `policy --output html`: a page of its own.

use super::find::Finding;
use super::table::{choice, notes, tags_of};
use crate::cli::error::CliError;
use bumpwright_pages::report::{Block, Cell, Report, Section, Tone};

pub(super) fn render(findings: &[Finding]) -> Result<String, CliError> {
    let mut blocks = vec![Block::Table(
        vec!["Policy", "Image", "Choice", "Runner-ups", "Tags"],
        findings.iter().map(row).collect(),
    )];
    blocks.extend(findings.iter().flat_map(explained));
    blocks.extend(
        notes(findings)
            .into_iter()
            .map(|note| Block::text(format!("note: {note}"))),
    );
    let report = Report {
        title: "bumpwright policy".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sections: vec![Section {
            title: "Choices".to_owned(),
            blocks,
        }],
    };
    report.html().map_err(CliError::from)
}

fn row(finding: &Finding) -> Vec<Cell> {
    let mut lines = vec![choice(finding)];
    let digest = finding.choice.as_ref().and_then(|image| image.digest.clone());
    lines.extend(digest.map(|digest| format!("digest: {digest}")));
    lines.extend(finding.guards.iter().map(|guard| format!("guard: {guard}")));
    let problem = finding.problem.as_ref();
    lines.extend(problem.map(|problem| format!("{:?}: {}", problem.reason, problem.message)));
    lines.retain(|line| !line.is_empty());
    let choice = Cell::text(lines.join("\n"));
    vec![
        Cell::text(finding.name()),
        Cell::code(finding.image()),
        match (problem.is_some(), finding.guards.is_empty()) {
            (true, _) => choice.badge("error", Tone::Bad),
            (false, false) => choice.badge("held", Tone::Warn),
            (false, true) => choice,
        },
        Cell::code(finding.runners_up.join(", ")),
        Cell::text(tags_of(finding)),
    ]
}

/// How the tag of `--explain` is judged.
fn explained(finding: &Finding) -> Option<Block> {
    let explanation = finding.explanation.as_ref()?;
    let line = Cell::text(format!("{}: the tag {}", finding.name(), explanation.tag));
    let steps = explanation.steps.iter().enumerate();
    let steps = steps.map(|(n, step)| Block::text(format!("{}. {step}", n + 1)));
    Some(Block::Folded(line, steps.collect()))
}
