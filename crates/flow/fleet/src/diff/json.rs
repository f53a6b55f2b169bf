//! Differences for programs.

use serde_json::{Value, json};

use super::{FleetDiff, KustomizationDiff, ObjectChange, ObjectDiff, Presence};
use bumpwright_diff::field_to_json;

pub(super) fn render(diffs: &[FleetDiff]) -> String {
    format!("{:#}\n", json!({ "version": 1, "clusters": clusters(diffs) }))
}

/// The clusters, as a list.
pub(crate) fn clusters(diffs: &[FleetDiff]) -> Vec<Value> {
    diffs.iter().map(cluster).collect()
}

fn cluster(diff: &FleetDiff) -> Value {
    let kustomizations: Vec<Value> = diff.kustomizations.iter().map(kustomization).collect();
    json!({ "entry": diff.entry, "kustomizations": kustomizations })
}

fn kustomization(diff: &KustomizationDiff) -> Value {
    let change = match diff.presence {
        Presence::Added => "added",
        Presence::Removed => "removed",
        Presence::Both => "changed",
    };
    let [before, after] = &diff.problems;
    let objects: Vec<Value> = diff.objects.iter().map(object).collect();
    json!({
        "kind": diff.kind, "name": diff.name, "change": change,
        "errorBefore": before, "errorAfter": after, "objects": objects, "notes": diff.notes,
    })
}

fn object(diff: &ObjectDiff) -> Value {
    let name = &diff.object;
    let (change, from, fields) = match &diff.change {
        ObjectChange::Added => ("added", None, &[][..]),
        ObjectChange::Removed => ("removed", None, &[][..]),
        ObjectChange::Changed(fields) => ("changed", None, fields.as_slice()),
        ObjectChange::Moved { from, fields } => ("moved", Some(from), fields.as_slice()),
    };
    let fields: Vec<Value> = fields.iter().map(field_to_json).collect();
    json!({
        "group": name.group, "kind": name.kind, "namespace": name.namespace, "name": name.name,
        "origin": diff.origin, "change": change, "from": from, "fields": fields,
    })
}
