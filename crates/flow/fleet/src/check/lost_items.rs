//! Merge patches that drop items of lists, since the kind has no schema in the build.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cluster::{Cluster, Placed as _, text};
use super::places::split;
use crate::source::Source;
use bumpwright_findings::{Finding, Rule};
use bumpwright_kustomize::LostItems;

const DEFINITIONS: &str = "apiextensions.k8s.io";

/// Findings about patches, each once, however many Kustomizations build it.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for node in cluster.fleet.nodes.iter().filter(|node| node.source == Source::This) {
        let Ok(product) = &node.product else { continue };
        for lost in &product.lost {
            if !seen.insert((&lost.place, &lost.field, &lost.gone)) {
                continue;
            }
            let finding = Finding::new(Rule::ListReplaced, lost.to_string())
                .object(format!("{} {}", lost.kind, lost.name))
                .help(help(cluster, lost));
            let finding = match node.name() {
                Some(name) => finding.kustomization(name.to_string()),
                None => finding,
            };
            // A patch of the Kustomization itself is in no file of the folder.
            let place = lost.place.as_deref().or(node.origin.as_deref());
            found.push(finding.placed(place.and_then(split)));
        }
    }
}

/// The way out: where the fleet has a definition that names the key of the list, it can be given to kustomize.
fn help(cluster: &Cluster<'_>, lost: &LostItems) -> String {
    let mut definitions = cluster
        .of_kind(DEFINITIONS, "CustomResourceDefinition")
        .filter(|(_, object)| {
            text(&object.value, "/spec/group") == lost.group && text(&object.value, "/spec/names/kind") == lost.kind
        });
    let way_out = lost.way_out();
    match definitions.find_map(|(_, object)| keys(&object.value, lost)) {
        Some(keys) => format!(
            "the CustomResourceDefinition in the fleet merges the list by {keys}, which kustomize does not read: {way_out}"
        ),
        None => way_out,
    }
}

/// The keys of a list in a definition.
fn keys(definition: &Value, lost: &LostItems) -> Option<String> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let version = versions.iter().find(|version| text(version, "/name") == lost.version)?;
    let mut schema = version.pointer("/schema/openAPIV3Schema")?;
    for part in &lost.field {
        schema = schema.get("properties")?.get(part)?;
    }
    let keys = schema.get("x-kubernetes-list-map-keys")?.as_array()?;
    let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
    (!keys.is_empty()).then(|| keys.join(" and "))
}
