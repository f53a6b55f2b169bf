//! A review for programs.

use serde_json::{Value, json};

use super::Review;
use crate::diff;
use bumpwright_findings::terminal;

pub(super) fn render(review: &Review) -> String {
    let mut findings: Value = serde_json::from_str(&review.report.json()).unwrap_or_default();
    if let Some(findings) = findings.as_object_mut() {
        findings.remove("version");
    }
    let document = json!({
        "version": 1,
        "clusters": diff::clusters(&review.clusters),
        "impact": review.impact,
        "report": findings,
        "gone": review.gone,
    });
    terminal::json(&format!("{document:#}\n")).into_owned()
}
