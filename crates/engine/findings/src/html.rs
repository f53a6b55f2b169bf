//! A page of its own, for the artifacts of a CI job.

use bumpwright_pages::RenderError;
use bumpwright_pages::report::{self, Block, Cell, Section, Tone};

use crate::{Finding, Report, Severity, words};
use bumpwright_text::between;

pub(crate) fn render(report: &Report) -> Result<String, RenderError> {
    let page = report::Report {
        title: "bumpwright fleet check".to_owned(),
        version: report.version().to_owned(),
        sections: vec![section(report)],
    };
    page.html()
}

pub(crate) fn section(report: &Report) -> Section {
    let mut blocks = vec![Block::text(report.summary())];
    if !report.findings().is_empty() {
        let rows = report.findings().iter().map(row).collect();
        blocks.push(Block::Table(vec!["Rule", "Place", "Finding"], rows));
    }
    Section {
        title: "Findings".to_owned(),
        blocks,
    }
}

fn row(finding: &Finding) -> Vec<Cell> {
    let tone = match finding.severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Warn,
        Severity::Note => Tone::Mute,
    };
    let place = between("", finding.place.as_ref().map(words::place), "").to_string();
    let more = [
        words::origins(finding).map(|origins| format!("in {origins}")),
        finding.help.as_ref().map(|help| format!("help: {help}")),
        finding.acceptance.as_ref().map(words::acceptance),
    ];
    let message = std::iter::once(words::headline(finding)).chain(more.into_iter().flatten());
    let (word, tone) = match &finding.acceptance {
        Some(_) => ("accepted", Tone::Mute),
        None => (finding.severity.as_str(), tone),
    };
    vec![
        Cell::text(finding.rule.to_string()).badge(word, tone),
        Cell::code(place),
        Cell::text(message.collect::<Vec<_>>().join("\n")),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::report::tests::{hostile, report};

    #[test]
    fn findings_are_rows() {
        let html = report().html().unwrap();
        for text in [
            "apps/web.yaml:7:13",
            "<span class=\"badge bad\">error</span>",
            "in Kustomization flux-system/apps",
        ] {
            assert!(html.contains(text), "{text}\n{html}");
        }
        let html = hostile().html().unwrap();
        assert!(!html.contains("<script") && !html.contains('\u{1b}'), "{html}");
    }
}
