//! Definitions in the `crds/` of charts that a change does not bring to the cluster.

use super::Change;
use crate::build::view::Node;
use crate::diff::Owner;
use bumpwright_findings::{Finding, Rule, Severity};

/// Findings about the definitions of a release that Helm leaves as they are.
pub(super) fn check(change: &Change<'_>, owner: &Owner<'_>, found: &mut Vec<Finding>) {
    for (kept, message) in owner.notes() {
        let finding = match (owner.new, owner.old) {
            (Some(node), _) => change.about(Rule::StaleDefinition, node, message),
            (None, old) => {
                let title = old.map(Node::title).unwrap_or_default();
                Finding::new(Rule::StaleDefinition, message).object(title)
            }
        };
        found.push(if kept.is_always_so() {
            finding.severity(Severity::Note)
        } else {
            finding
        });
    }
}
