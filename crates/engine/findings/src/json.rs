//! A JSON document: the shape that programs rely on, version 1 (docs/reference/findings.schema.json).

use serde::Serialize;

use crate::{Finding, Origin, Report, Severity, terminal};

#[derive(Serialize)]
struct DocumentView<'a> {
    version: u32,
    #[serde(flatten)]
    report: ReportView<'a>,
}

#[derive(Serialize)]
pub(crate) struct ReportView<'a> {
    counts: CountsView,
    findings: Vec<FindingView<'a>>,
}

#[derive(Serialize)]
struct CountsView {
    errors: usize,
    warnings: usize,
    notes: usize,
    accepted: usize,
    kustomizations: usize,
}

#[derive(Serialize)]
struct FindingView<'a> {
    rule: &'static str,
    severity: &'static str,
    place: Option<PlaceView<'a>>,
    object: Option<&'a str>,
    origins: Vec<OriginView<'a>>,
    message: &'a str,
    help: Option<&'a str>,
    accepted: Option<AcceptanceView<'a>>,
}

#[derive(Serialize)]
struct AcceptanceView<'a> {
    by: &'a str,
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct PlaceView<'a> {
    path: &'a str,
    line: usize,
    column: usize,
}

#[derive(Serialize)]
pub(crate) struct OriginView<'a> {
    cluster: Option<&'a str>,
    kustomization: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<&'a str>,
}

pub(crate) fn view(report: &Report) -> ReportView<'_> {
    let kustomizations = report.checked().iter().filter(|origin| origin.kustomization.is_some());
    ReportView {
        counts: CountsView {
            errors: report.count(Severity::Error),
            warnings: report.count(Severity::Warning),
            notes: report.count(Severity::Note),
            accepted: report.accepted(),
            kustomizations: kustomizations.count(),
        },
        findings: report.findings().iter().map(finding).collect(),
    }
}

pub(crate) fn render(report: &Report) -> String {
    let document = DocumentView {
        version: 1,
        report: view(report),
    };
    let mut text = bumpwright_json::indented(&document);
    text.push('\n');
    terminal::json(&text).into_owned()
}

fn finding(finding: &Finding) -> FindingView<'_> {
    FindingView {
        rule: finding.rule.id(),
        severity: finding.severity.as_str(),
        place: finding.place.as_ref().map(|place| PlaceView {
            path: &place.path,
            line: place.line,
            column: place.column,
        }),
        object: finding.object.as_deref(),
        origins: finding.origins.iter().map(origin).collect(),
        message: &finding.message,
        help: finding.help.as_deref(),
        accepted: finding.acceptance.as_ref().map(|acceptance| AcceptanceView {
            by: &acceptance.by,
            reason: acceptance.reason.as_deref(),
        }),
    }
}

pub(crate) fn origin(origin: &Origin) -> OriginView<'_> {
    OriginView {
        cluster: origin.cluster.as_deref(),
        kustomization: origin.kustomization.as_deref(),
        release: origin.release.as_deref(),
        template: origin.template.as_deref(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::{Value, json};

    use crate::report::tests::{hostile, report};

    #[test]
    fn the_document_has_counts_and_findings() {
        let document: Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(document["version"], 1);
        assert_eq!(
            document["counts"],
            json!({"errors": 2, "warnings": 1, "notes": 1, "accepted": 0, "kustomizations": 4})
        );
        assert_eq!(
            document["findings"][2],
            json!({
                "rule": "missing-source", "severity": "error",
                "place": {"path": "clusters/base/apps.yaml", "line": 12, "column": 5},
                "object": "Kustomization flux-system/apps",
                "origins": [
                    {"cluster": "clusters/a", "kustomization": "flux-system/apps"},
                    {"cluster": "clusters/b", "kustomization": "flux-system/apps"},
                ],
                "message": "GitRepository flux-system/flet is not in the fleet",
                "help": "did you mean flux-system/fleet?",
                "accepted": null,
            })
        );
        assert_eq!(document["findings"][3]["place"], Value::Null);
    }

    #[test]
    fn hostile_texts_are_kept_and_move_no_cursor() {
        let text = hostile().json();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["findings"][0]["message"], hostile().findings()[0].message);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}
