//! Sources that nothing defines, and sources that were not read.

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP, IMAGE_GROUP, Placed as _, SOURCE_GROUP, name_of, select, text};
use crate::build::view::{Node, Problem};
use crate::source::meant::Source;
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Rule};

/// Fields that name a source: group and kind of the object, pattern of the field, kind of the source if the field
/// does not say it.
const REFERENCES: [(&str, &str, &str, &str); 6] = [
    (IMAGE_GROUP, "ImageUpdateAutomation", "/spec/sourceRef", "GitRepository"),
    (HELM_GROUP, "HelmRelease", "/spec/chart/spec/sourceRef", ""),
    (HELM_GROUP, "HelmRelease", "/spec/chartRef", ""),
    (SOURCE_GROUP, "HelmChart", "/spec/sourceRef", ""),
    (
        SOURCE_GROUP,
        "GitRepository",
        "/spec/include/*/repository",
        "GitRepository",
    ),
    (
        "source.extensions.fluxcd.io",
        "ArtifactGenerator",
        "/spec/sources/*",
        "",
    ),
];

/// Findings about the sources of Kustomizations and of other objects.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    found.extend(cluster.fleet.nodes.iter().filter_map(|node| of_node(cluster, node)));
    charts(cluster, found);
    for (group, kind, pattern, default) in REFERENCES {
        for (node, object) in cluster.of_kind(group, kind) {
            let own = name_of(&object.value);
            for (pointer, reference) in select(&object.value, pattern) {
                let Some((kind, name)) = named(reference, default, &own.namespace) else {
                    continue;
                };
                if exists(cluster, &kind, &name) || cluster.may_be_named(SOURCE_GROUP, &kind, &name) {
                    continue;
                }
                let message = format!("{kind} {name} is not in the fleet");
                let finding = cluster.at(Rule::MissingSource, node, object, &format!("{pointer}/name"), message);
                // Nodes that wait for sources themselves can give none.
                let is_told = cluster.unbuilt_nodes().all(|node| waits_for_source(cluster, node));
                found.push(if is_told {
                    Cluster::suggesting(finding, cluster.suggestion(SOURCE_GROUP, &kind, &name))
                } else {
                    cluster.missing_object(finding, SOURCE_GROUP, &kind, &name)
                });
            }
        }
    }
}

/// Releases that name two charts, or none: the API server refuses them in the words that the message begins with.
fn charts(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.of_kind(HELM_GROUP, "HelmRelease") {
        let has = |field: &str| object.value.pointer(field).is_some_and(|value| !value.is_null());
        let (pointer, got) = match (has("/spec/chart"), has("/spec/chartRef")) {
            (true, true) => ("/spec/chartRef", "both"),
            (false, false) => ("/spec", "neither"),
            _ => continue,
        };
        let message = format!("spec: either chart or chartRef must be set, got {got}");
        found.push(cluster.at_key(Rule::Schema, node, object, pointer, message));
    }
}

/// Whether a node was not built because its source is not in the fleet.
fn waits_for_source(cluster: &Cluster<'_>, node: &Node) -> bool {
    let Some(release) = &node.release else {
        return matches!(&node.source, Source::Unknown(source, _)
            if source.object.is_none() && !exists(cluster, &source.kind, &source.name));
    };
    let Some(object) = cluster.fleet.object(HELM_GROUP, "HelmRelease", &release.name) else {
        return false;
    };
    let references = ["/spec/chart/spec/sourceRef", "/spec/chartRef"];
    let mut references = references.iter().filter_map(|pointer| object.value.pointer(pointer));
    let named = references.find_map(|reference| named(reference, "", &release.name.namespace));
    named.is_some_and(|(kind, name)| !exists(cluster, &kind, &name))
}

/// Kind and name of a source that a field refers to.
fn named(reference: &Value, default: &str, own: &str) -> Option<(String, ObjectName)> {
    let kind = match text(reference, "/kind") {
        "" => default,
        kind => kind,
    };
    let (name, namespace) = (text(reference, "/name"), text(reference, "/namespace"));
    let is_known = !kind.is_empty() && !name.is_empty() && !name.contains("${") && !namespace.contains("${");
    is_known.then(|| (kind.to_owned(), ObjectName::referred_from(own, Some(namespace), name)))
}

fn exists(cluster: &Cluster<'_>, kind: &str, name: &ObjectName) -> bool {
    cluster.fleet.object(SOURCE_GROUP, kind, name).is_some()
        || cluster.is_implied(kind, name)
        || (kind == "ExternalArtifact" && is_generated(cluster, name))
}

/// Whether an ArtifactGenerator makes an ExternalArtifact.
fn is_generated(cluster: &Cluster<'_>, name: &ObjectName) -> bool {
    let mut generators = cluster.of_kind("source.extensions.fluxcd.io", "ArtifactGenerator");
    generators.any(|(_, object)| {
        let artifacts = select(&object.value, "/spec/artifacts/*/name");
        name_of(&object.value).namespace == name.namespace
            && artifacts
                .iter()
                .any(|(_, artifact)| artifact.as_str() == Some(&name.name))
    })
}

/// What is wrong with the source of a Kustomization.
fn of_node(cluster: &Cluster<'_>, node: &Node) -> Option<Finding> {
    let (Source::Unknown(source, why), Err(Problem::Source(_))) = (&node.source, &node.product) else {
        return None;
    };
    let name = node.name()?;
    let place = cluster.place_in_kustomization(node, "/spec/sourceRef/name");
    let is_missing = source.object.is_none() && !exists(cluster, &source.kind, &source.name);
    let parent = node.parent.and_then(|parent| cluster.fleet.nodes.get(parent));
    let about = |rule, message: String| {
        let finding = Finding::new(rule, message).object(format!("Kustomization {name}"));
        match parent.and_then(Node::name) {
            Some(parent) => finding.kustomization(parent.to_string()).placed(place.clone()),
            None => finding.placed(place.clone()),
        }
    };
    if is_missing {
        let message = format!("{} {} is not in the fleet", source.kind, source.name);
        let finding = about(Rule::MissingSource, message);
        let near = cluster.suggestion(SOURCE_GROUP, &source.kind, &source.name);
        return Some(match near {
            Some(near) => finding.help(format!("did you mean {near}?")),
            None => finding,
        });
    }
    let message = match source.object {
        None => format!(
            "{} {} is made by something that is not in the fleet",
            source.kind, source.name
        ),
        Some(_) => format!("{} {} was not looked at: {why}", source.kind, source.name),
    };
    Some(about(Rule::UnknownSource, message))
}
