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
        if !node.is_suspended() && !is_lenient(object) {
            let key = (target(node), object.id());
            owners.entry(key).or_default().push((node, object));
        }
    }
    for all in owners.into_values() {
        let Some(((first, object), rest)) = all.split_first() else {
            continue;
        };
        for (node, other) in rest {
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

fn is_lenient(object: &FleetObject) -> bool {
    LENIENT.iter().any(|(key, values)| {
        let pointer = format!("/metadata/annotations/kustomize.toolkit.fluxcd.io~1{key}");
        values.contains(&text(&object.value, &pointer))
    })
}
