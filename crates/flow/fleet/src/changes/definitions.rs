//! Definitions in the `crds/` of charts that a change does not bring to the cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Change;
use crate::build::view::Node;
use crate::diff::Owner;
use bumpwright_api::ObjectId;
use bumpwright_findings::{Finding, Rule, Severity};

/// Definitions as they were before, which the cluster keeps.
pub(crate) type KeptDefinitions = BTreeMap<ObjectId, Value>;

/// The definitions of charts that no upgrade replaces. One that another release or a Kustomization changes is not kept.
pub(super) fn kept(owners: &[Owner<'_>]) -> KeptDefinitions {
    let both = || owners.iter().flat_map(Owner::kept_definitions);
    if both().next().is_none() {
        return KeptDefinitions::new();
    }
    let applied = owners.iter().flat_map(|owner| &owner.objects);
    let applied: BTreeSet<ObjectId> = applied.filter_map(|both| Some(both.new?.object.id())).collect();
    let kept = both().filter_map(|both| Some((both.new?.object.id(), both.old?.object.value.clone())));
    kept.filter(|(id, _)| !applied.contains(id)).collect()
}

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
