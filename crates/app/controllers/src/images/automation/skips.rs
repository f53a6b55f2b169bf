//! Skipped markers, which Flux ignores in silence (docs/decisions.md, *silence*): in the Ready message, in an
//! event and in metrics.

use std::collections::BTreeMap;

use bumpwright_edit::{Reason, Skip};
use bumpwright_kube::IMAGE_UPDATE_AUTOMATION;
use bumpwright_runtime::{Action, Metrics, ReconcileRequest};
use bumpwright_update::Run;

/// Number of skips named in a message.
const NAMED: usize = 3;

/// Number of skips named in an event.
const NAMED_IN_EVENT: usize = 10;

/// The first skips, one on each line, and the number of further ones; none when nothing was skipped.
pub(crate) fn summary(skips: &[Skip]) -> Option<String> {
    first(skips, NAMED)
}

/// Records an event about skips that the previous message `before` of Ready does not have.
pub(crate) fn warn(request: &ReconcileRequest<'_>, skips: &[Skip], before: &str) {
    let Some(summary) = summary(skips).filter(|summary| !before.ends_with(summary)) else {
        return;
    };
    let message = first(skips, NAMED_IN_EVENT).unwrap_or(summary);
    request.warning(
        Action::ApplyPolicies,
        bumpwright_api::Reason::MarkersSkipped,
        format!("markers that were not updated:\n{message}"),
    );
}

fn first(skips: &[Skip], count: usize) -> Option<String> {
    let unexpected: Vec<&Skip> = skips.iter().filter(|skip| !is_meant(skip.reason)).collect();
    if unexpected.is_empty() {
        return None;
    }
    let mut lines: Vec<String> = unexpected
        .iter()
        .take(count)
        .map(|skip| format!("{}:{}: {}", skip.path, skip.line, skip.message))
        .collect();
    if unexpected.len() > count {
        lines.push(format!("and {} more skipped", unexpected.len() - count));
    }
    Some(lines.join("\n"))
}

/// Markers of other automations on the same repository are expected, and so are commented-out fields; only
/// metrics count them. Fields that wait for a window are not faults either: the message lists them on a separate
/// line (`windows`).
fn is_meant(reason: Reason) -> bool {
    reason.is_dormant()
        || matches!(
            reason,
            Reason::NotSelected | Reason::OtherNamespace | Reason::OutsideWindow
        )
}

/// Counts the skips of a run in metrics.
pub(crate) fn count(metrics: &Metrics, request: &ReconcileRequest<'_>, run: &Run) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for skip in &run.skips {
        *counts.entry(format!("{:?}", skip.reason)).or_default() += 1;
    }
    let name = &request.object.name;
    let counts = counts.iter().map(|(reason, count)| (reason.as_str(), *count));
    metrics.skipped_markers(IMAGE_UPDATE_AUTOMATION.kind, &name.namespace, &name.name, counts);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(reason: Reason) -> Skip {
        Skip {
            path: "a.yaml".to_owned(),
            line: 1,
            column: 1,
            reason,
            message: format!("{reason:?}"),
        }
    }

    #[test]
    fn what_is_left_alone_on_purpose_is_in_no_message() {
        let meant = [
            Reason::Commented,
            Reason::NotSelected,
            Reason::OtherNamespace,
            Reason::OutsideWindow,
        ]
        .map(skip);
        assert_eq!(summary(&meant), None);
        let both = [skip(Reason::Commented), skip(Reason::UnknownPolicy)];
        assert_eq!(summary(&both).as_deref(), Some("a.yaml:1: UnknownPolicy"));
    }
}
