//! The events and the metrics of a rollout.

use bumpwright_api::Reason;
use bumpwright_rollout::{Record, Step};
use bumpwright_runtime::{Action, EventType, Metrics, ReconcileRequest};

/// Records an event about a rollout that ended well.
pub(super) fn news(request: &ReconcileRequest<'_>, record: &Record, step: &Step) {
    let Some(summary) = record.summary().filter(|_| step.succeeded || step.overtaken) else {
        return;
    };
    let reason = if step.succeeded {
        Reason::RolloutSucceeded
    } else {
        Reason::RolloutOvertaken
    };
    request.event(
        Action::Reconcile,
        EventType::Normal,
        reason,
        summary.message,
        Default::default(),
    );
}

/// Records an event about failures that were handled.
pub(super) fn failed(request: &ReconcileRequest<'_>, record: &Record) {
    if let Some(summary) = record.summary() {
        request.warning(Action::Reconcile, Reason::RolloutFailed, summary.message);
    }
}

/// Counts the stages that were reached.
pub(super) fn measure(metrics: &Metrics, step: &Step) {
    for reached in &step.reached {
        metrics.rollout(reached.stage.word(), seconds(reached.after));
        if let Some(lead) = reached.lead {
            metrics.rollout_lead(seconds(lead));
        }
    }
}

/// One that is negative, for clocks that differ, is zero.
fn seconds(count: i64) -> std::time::Duration {
    std::time::Duration::from_secs(count.max(0).unsigned_abs())
}
