//! The HelmReleases that a commit changes: those who follow the commit wait for them.

use std::collections::BTreeSet;

use bumpwright_update::ChangedRelease;
use serde_json::Value;

use super::impact::Pair;
use crate::build::view::FleetObject;
use crate::release::spec::{GROUP, is_release};
use bumpwright_api::ObjectName;

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
    for (pair, name) in rendered.filter(|(pair, _)| !pair.differences().is_empty()) {
        let change = |spec| ChangedRelease {
            kustomization: pair.name.clone(),
            name: name.to_string(),
            spec,
        };
        if own.contains(&change(true)) || owner_is_elsewhere(pair) {
            continue;
        }
        if keeps_version(pair, name) {
            notes.push(format!(
                "{}: the files of its chart change, and its version does not: with reconcileStrategy ChartVersion the cluster keeps the \
                 chart that it has",
                pair.title()
            ))
        } else {
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
    let version = |node: Option<&crate::build::view::Node>| Some(node?.release.as_ref()?.version.clone());
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
