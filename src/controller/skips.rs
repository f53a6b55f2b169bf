//! Skipped markers, which Flux passes over in silence (DECISIONS, *silence*): in the Ready message and in metrics.

use std::collections::BTreeMap;

use super::context::Context;
use super::reconcile::Turn;
use crate::automation::Run;
use crate::edit::{Reason, Skip};

/// So many are named in a message.
const NAMED: usize = 3;

/// The first skips, one on each line, and how many more there are; none when nothing was skipped.
pub(super) fn summary(skips: &[Skip]) -> Option<String> {
    let told: Vec<&Skip> = skips.iter().filter(|skip| !is_meant(skip.reason)).collect();
    if told.is_empty() {
        return None;
    }
    let mut lines: Vec<String> = told
        .iter()
        .take(NAMED)
        .map(|skip| format!("{}:{}: {}", skip.path, skip.line, skip.message))
        .collect();
    if told.len() > NAMED {
        lines.push(format!("and {} more skipped", told.len() - NAMED));
    }
    Some(lines.join("\n"))
}

/// Markers of other automations on the same repository are where they belong; metrics count them.
fn is_meant(reason: Reason) -> bool {
    matches!(reason, Reason::NotSelected | Reason::OtherNamespace)
}

/// Tells metrics what a run skipped.
pub(super) fn count(context: &Context, turn: &Turn<'_>, run: &Run) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for skip in &run.skips {
        *counts.entry(format!("{:?}", skip.reason)).or_default() += 1;
    }
    let name = &turn.object.name;
    let counts = counts.iter().map(|(reason, count)| (reason.as_str(), *count));
    context
        .metrics
        .skipped_markers("ImageUpdateAutomation", &name.namespace, &name.name, counts);
}
