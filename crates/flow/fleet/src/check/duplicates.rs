//! Objects that several Kustomizations of one cluster build.

use std::collections::BTreeMap;

use super::cluster::{Cluster, text};
use crate::build::view::{FleetObject, Node};
use bumpwright_api::ObjectId;
use bumpwright_findings::{Finding, Rule};
use bumpwright_text::between;

/// Annotations of objects that their Kustomization does not keep as they are in its source.
const LENIENT: [(&str, &[&str]); 2] = [
    ("reconcile", &["disabled"]),
    ("ssa", &["Merge", "IfNotPresent", "Ignore"]),
];

/// Findings about objects with two owners: at the second place, with both names.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let mut owners: BTreeMap<(String, ObjectId), Vec<(&Node, &FleetObject)>> = BTreeMap::new();
    for (node, object) in cluster.objects() {
        if !node.is_suspended() && !is_lenient(object) && !is_left(node, object) {
            let key = (target(node), object.id());
            owners.entry(key).or_default().push((node, object));
        }
    }
    for all in owners.into_values() {
        let Some(((first, object), rest)) = all.split_first() else {
            continue;
        };
        for (node, other) in rest {
            if is_replaced_by_the_same((*first, *object), (*node, *other)) {
                continue;
            }
            let place = object.origin.as_deref().map(|origin| origin.trim_start_matches("./"));
            let place = between(" (", place, ")");
            let message = format!("built by {} and by {}{place}", node.title(), first.title());
            found.push(cluster.at(Rule::OwnedTwice, node, other, "", message));
        }
    }
}

/// The cluster that a Kustomization applies to.
fn target(node: &Node) -> String {
    let Some(kustomization) = &node.kustomization else {
        return match &node.release {
            Some(release) if release.is_elsewhere => node.title(),
            _ => String::new(),
        };
    };
    let namespace = kustomization.metadata.namespace_or_default();
    let kube_config = kustomization.spec.kube_config.as_ref();
    kube_config.map_or_else(String::new, |kube_config| format!("{namespace} {kube_config:?}"))
}

/// Whether it is from the `crds/` of a chart, and left as it is where somebody else has it.
fn is_left(node: &Node, object: &FleetObject) -> bool {
    node.chart_crds(object).is_some_and(|crds| !crds.replaces())
}

/// Whether the charts of two releases have the same definition in `crds/`: each replaces it with what is there.
fn is_replaced_by_the_same((one, object): (&Node, &FleetObject), (node, other): (&Node, &FleetObject)) -> bool {
    let are_of_crds = one.chart_crds(object).is_some() && node.chart_crds(other).is_some();
    are_of_crds && object.value.get("spec") == other.value.get("spec")
}

fn is_lenient(object: &FleetObject) -> bool {
    LENIENT.iter().any(|(key, values)| {
        let pointer = format!("/metadata/annotations/kustomize.toolkit.fluxcd.io~1{key}");
        values.contains(&text(&object.value, &pointer))
    })
}
