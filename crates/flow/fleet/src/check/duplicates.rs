//! Objects that several Kustomizations of one cluster build.

use super::cluster::{Cluster, text};
use crate::build::view::{FleetObject, Node};
use bumpwright_findings::{Finding, Rule};
use bumpwright_text::between;

/// Labels or annotations of objects that their Kustomization does not keep as they are in its source.
const LENIENT: [(&str, &[&str]); 2] = [
    ("kustomize.toolkit.fluxcd.io/reconcile", &["disabled"]),
    ("kustomize.toolkit.fluxcd.io/ssa", &["Merge", "IfNotPresent", "Ignore"]),
];

/// Findings about objects with two owners: at the second place, with both names.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let owned = cluster
        .objects()
        .filter(|(node, object)| !node.is_suspended() && !is_lenient(object) && !is_left(node, object));
    let mut owned: Vec<Owned<'_>> = owned.map(|(node, object)| Owned::of(node, object)).collect();
    owned.sort_by(|one, other| one.identity.cmp(&other.identity));
    for all in owned.chunk_by(|one, other| one.identity == other.identity) {
        let Some((first, rest)) = all.split_first() else {
            continue;
        };
        for other in rest {
            if is_replaced_by_the_same(first, other) {
                continue;
            }
            let place = first.object.origin.as_deref();
            let place = between(" (", place.map(|origin| origin.trim_start_matches("./")), ")");
            let message = format!("built by {} and by {}{place}", other.node.title(), first.node.title());
            found.push(cluster.at(Rule::OwnedTwice, other.node, other.object, "", message));
        }
    }
}

/// An object that a node keeps as it is in its source.
struct Owned<'c> {
    identity: Identity<'c>,
    node: &'c Node,
    object: &'c FleetObject,
}

/// What two of the same object have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity<'c> {
    /// The cluster that it is in.
    target: String,
    namespace: &'c str,
    name: &'c str,
    group_kind: (&'c str, &'c str),
}

impl<'c> Owned<'c> {
    fn of(node: &'c Node, object: &'c FleetObject) -> Self {
        Self {
            identity: Identity {
                target: target(node),
                namespace: text(&object.value, "/metadata/namespace"),
                name: text(&object.value, "/metadata/name"),
                group_kind: bumpwright_api::group_kind(&object.value),
            },
            node,
            object,
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
fn is_replaced_by_the_same(one: &Owned<'_>, other: &Owned<'_>) -> bool {
    let are_of_crds = one.node.chart_crds(one.object).is_some() && other.node.chart_crds(other.object).is_some();
    are_of_crds && one.object.value.get("spec") == other.object.value.get("spec")
}

fn is_lenient(object: &FleetObject) -> bool {
    LENIENT
        .iter()
        .any(|(key, values)| values.iter().any(|value| object.wishes(key, value)))
}
