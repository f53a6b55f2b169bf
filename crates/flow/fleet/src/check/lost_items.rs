//! Merge patches that drop items of lists, since the kind has no schema in the build.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cluster::{Cluster, KUSTOMIZE_GROUP, Placed as _, text};
use super::places::{Part, split};
use crate::build::view::Node;
use crate::source::meant::Source;
use bumpwright_findings::{Finding, Place, Rule};
use bumpwright_kustomize::LostItems;
use bumpwright_yaml::{FileId, ReadOptions, read_first};

const DEFINITIONS: &str = "apiextensions.k8s.io";

/// Findings about patches, each once, however many Kustomizations build it.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let mut reported = BTreeSet::new();
    for node in cluster.fleet.nodes.iter().filter(|node| node.source == Source::This) {
        let Ok(product) = &node.product else { continue };
        for lost in &product.lost {
            if !reported.insert((&lost.place, &lost.field, &lost.gone)) {
                continue;
            }
            let finding = Finding::new(Rule::ListReplaced, lost.message())
                .object(format!("{} {}", lost.kind, lost.name))
                .help(help(cluster, lost));
            let finding = match node.name() {
                Some(name) => finding.kustomization(name.to_string()),
                None => finding,
            };
            found.push(finding.placed(place(cluster, node, lost)));
        }
    }
}

/// The place of the patch. One of the Kustomization itself is in no file of its folder.
fn place(cluster: &Cluster<'_>, node: &Node, lost: &LostItems) -> Option<Place> {
    if let Some(place) = &lost.place {
        return split(place);
    }
    let own = || {
        let kustomization = node.kustomization.as_ref()?;
        let patches = &kustomization.spec.patches;
        let at = patches.iter().position(|patch| has_list(&patch.patch, &lost.field))?;
        let name = kustomization.metadata.object_name();
        let object = cluster.fleet.object(KUSTOMIZE_GROUP, "Kustomization", &name)?;
        cluster
            .places
            .of(object, &format!("/spec/patches/{at}/patch"), Part::Value)
    };
    own().or_else(|| split(node.origin.as_deref()?))
}

/// Whether a merge patch has a list at a field.
fn has_list(patch: &str, field: &[String]) -> bool {
    let options = ReadOptions::sigs(FileId::NONE);
    let Ok(Some(document)) = read_first(patch.as_bytes(), &options) else {
        return false;
    };
    let way: Vec<&str> = field.iter().map(String::as_str).collect();
    document.lookup(&way).is_some_and(|node| node.as_items().is_some())
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
