//! A review for programs.

use serde_json::json;

use super::Review;
use crate::diff;
use bumpwright_findings::terminal;

pub(super) fn render(review: &Review) -> String {
    let document = json!({
        "version": 1,
        "clusters": diff::clusters(&review.clusters),
        "impact": review.impact,
        "charts": review.charts,
        "releases": review.releases.releases,
        "releasesLeftOut": review.releases.left_out,
        "report": review.report.view(),
        "gone": review.gone,
    });
    terminal::json(&format!("{document:#}\n")).into_owned()
}
