//! The HelmReleases that a commit changes: those who follow the commit wait for them.

use std::collections::BTreeSet;

use bumpwright_update::ChangedRelease;
use serde_json::Value;

use super::impact::{Pair, pairs};
use crate::build::view::{Fleet, FleetObject, Node, Problem};
use crate::release::spec::{GROUP, is_release};
use bumpwright_api::ObjectName;

/// What is said of a release whose chart has other files and the same version.
pub(crate) const KEPT_CHART: &str = "the files of its chart change, and its version does not: with reconcileStrategy ChartVersion the cluster \
                                     keeps the chart that it has";

/// The releases of a cluster that keep the chart that they have, although its files change.
pub(crate) fn kept_charts<'f>(before: &'f Fleet, after: &'f Fleet) -> Vec<&'f Node> {
    let pairs = pairs(std::slice::from_ref(before), std::slice::from_ref(after));
    let kept = pairs.iter().filter(|pair| {
        let name = pair.release.as_ref();
        name.is_some_and(|name| keeps_version(pair, name) && changes(pair))
    });
    kept.filter_map(|pair| pair.after).collect()
}

/// Whether the files of its chart make other objects of a release, or none any more.
fn changes(pair: &Pair<'_>) -> bool {
    let is_built = |node: Option<&Node>| node.is_some_and(|node| node.product.is_ok());
    let fails = pair
        .after
        .is_some_and(|node| matches!(node.product, Err(Problem::Release(_))));
    (fails && is_built(pair.before)) || !pair.differences().is_empty()
}

/// The releases of pairs that install something else with the commit, and notes about those that do not
/// although their files change.
pub(crate) fn releases(pairs: &[Pair<'_>]) -> (Vec<ChangedRelease>, Vec<String>) {
    let mut own = BTreeSet::new();
    for pair in pairs
        .iter()
        .filter(|pair| pair.release.is_none() && !is_elsewhere(pair))
    {
        let changed = pair
            .differences()
            .into_iter()
            .filter_map(|one| one.before.zip(one.after));
        let releases = changed.filter(|(before, after)| is_release(&after.value) && spec(before) != spec(after));
        own.extend(releases.map(|(_, after)| ChangedRelease {
            kustomization: pair.name.clone(),
            name: after.id().name.to_string(),
            spec: true,
        }));
    }
    let mut notes = Vec::new();
    let rendered = pairs.iter().filter_map(|pair| Some((pair, pair.release.as_ref()?)));
    for (pair, name) in rendered.filter(|(pair, _)| changes(pair)) {
        let change = |spec| ChangedRelease {
            kustomization: pair.name.clone(),
            name: name.to_string(),
            spec,
        };
        if own.contains(&change(true)) || owner_is_elsewhere(pair) {
            continue;
        }
        if keeps_version(pair, name) {
            notes.push(format!("{}: {KEPT_CHART}", pair.title()));
        } else if !pair.differences().is_empty() {
            own.insert(change(false));
        }
    }
    (own.into_iter().collect(), notes)
}

fn spec(object: &FleetObject) -> Option<&Value> {
    object.value.get("spec")
}

fn is_elsewhere(pair: &Pair<'_>) -> bool {
    pair.after.is_some_and(|node| node.is_elsewhere())
}

/// Whether the release itself is in another cluster.
fn owner_is_elsewhere(pair: &Pair<'_>) -> bool {
    pair.kustomization()
        .is_some_and(|owner| owner.spec.kube_config.is_some())
}

/// Whether source-controller makes no new chart: one of a GitRepository or a Bucket, with other files
/// and the same version.
fn keeps_version(pair: &Pair<'_>, name: &ObjectName) -> bool {
    let (before, after) = pair.fleets;
    let inputs = (before.releases.get(name), after.releases.get(name));
    let has_same_values = matches!(inputs, (Some(before), Some(after)) if before.is_as(after));
    let version = |node: Option<&Node>| Some(node?.release.as_ref()?.version.clone());
    let Some(object) = after.object(GROUP, "HelmRelease", name) else {
        return false;
    };
    let text = |pointer: &str| object.value.pointer(pointer).and_then(Value::as_str);
    let is_of_files = matches!(
        text("/spec/chart/spec/sourceRef/kind"),
        Some("GitRepository" | "Bucket")
    );
    is_of_files
        && has_same_values
        && text("/spec/chart/spec/reconcileStrategy") != Some("Revision")
        && version(pair.before) == version(pair.after)
}
