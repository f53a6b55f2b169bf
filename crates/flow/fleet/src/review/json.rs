//! A review for programs.

use serde_json::{Value, json};

use super::Review;
use crate::diff;

pub(super) fn render(review: &Review) -> String {
    let part = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let mut findings: Value = part(&review.report.json());
    let clusters: Value = part(&diff::to_json(&review.clusters));
    if let Some(findings) = findings.as_object_mut() {
        findings.remove("version");
    }
    let document = json!({
        "version": 1,
        "clusters": clusters.get("clusters"),
        "impact": review.impact,
        "report": findings,
        "gone": review.gone,
    });
    format!("{document:#}\n")
}
