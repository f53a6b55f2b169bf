//! Namespaces that objects are in and that nothing creates.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP, fits, name_of, select, text};
use super::makers::known;
use crate::build::view::{FleetObject, Node};
use bumpwright_api::{ObjectId, ObjectName, group_kind};
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_schemas::Schemas;

const NAMESPACE: &str = "Namespace";

/// The objects in a namespace: the first with its node, and how many there are.
type Users<'c> = (&'c Node, &'c FleetObject, usize);

/// A finding for each namespace, at the first object in it. Where the fleet has no Namespace besides those of every
/// cluster, all are created by other means; and a cluster of an API server has others than those of its Kustomizations.
pub(super) fn check(cluster: &Cluster<'_>, schemas: &Schemas, found: &mut Vec<Finding>) {
    let mut own = cluster.of_kind("", NAMESPACE);
    let has_some = own.any(|(_, object)| !is_anywhere(&name_of(&object.value).name));
    if cluster.fleet.is_of_server || !has_some {
        return;
    }
    let created = created(cluster);
    let mut users: BTreeMap<String, Users<'_>> = BTreeMap::new();
    for (node, object) in cluster.objects().filter(|(node, _)| !node.is_elsewhere()) {
        let ObjectId { group, kind, name } = object.id();
        let namespace = name.namespace;
        if !is_anywhere(&namespace) && schemas.is_namespaced(&group, &kind) != Some(false) {
            users.entry(namespace).or_insert((node, object, 0)).2 += 1;
        }
    }
    users.retain(|namespace, _| !created.iter().any(|pattern| fits(pattern, namespace)));
    found.extend(
        users
            .iter()
            .map(|(namespace, users)| finding(cluster, namespace, users)),
    );
}

fn finding(cluster: &Cluster<'_>, namespace: &str, (node, object, count): &Users<'_>) -> Finding {
    let others = match count {
        1 => String::new(),
        count => format!(", which {count} objects are in"),
    };
    let message = format!("nothing in the fleet creates the namespace {namespace}{others}");
    let pointer = "/metadata/namespace";
    let finding = cluster.at(Rule::MissingNamespace, node, object, pointer, message);
    let finding = finding.identity(format!("{NAMESPACE} {namespace}"));
    let near = cluster.suggestion("", NAMESPACE, &ObjectName::new("", namespace));
    let near = near.map(|near| near.trim_start_matches('/').to_owned());
    let finding = cluster.missing(finding, near);
    if cluster.is_whole() {
        finding
    } else {
        finding.severity(Severity::Note)
    }
}

/// Whether each cluster has the namespace, or a variable names it.
fn is_anywhere(namespace: &str) -> bool {
    matches!(namespace, "" | "default" | "flux-system") || namespace.starts_with("kube-") || namespace.contains("${")
}

/// The namespaces that exist when the fleet is applied, with `*` for what is not known of a name.
fn created(cluster: &Cluster<'_>) -> Vec<String> {
    let root = cluster.fleet.nodes.first().and_then(Node::name);
    let applied = cluster.fleet.applied.iter().map(|object| name_of(&object.value));
    // Somebody has applied what reconciles the entry.
    let mut created: Vec<String> = root.into_iter().chain(applied).map(|name| name.namespace).collect();
    for (_, object) in cluster.objects().filter(|(node, _)| !node.is_elsewhere()) {
        created.extend(of_object(&object.value));
    }
    created.iter().map(|name| known(name)).collect()
}

/// The namespaces that an object is or brings.
fn of_object(object: &Value) -> Vec<String> {
    let own = || text(object, "/metadata/name").to_owned();
    match group_kind(object) {
        ("", NAMESPACE) | ("project.openshift.io", "Project" | "ProjectRequest") => vec![own()],
        ("hnc.x-k8s.io", "SubnamespaceAnchor") => vec![own()],
        (HELM_GROUP, "HelmRelease") => of_release(object).into_iter().collect(),
        ("kubernetes.crossplane.io", "Object") => named(object, "/spec/forProvider/manifest", "/metadata/name"),
        ("kyverno.io", "ClusterPolicy" | "Policy") => named(object, "/spec/rules/*/generate", "/name"),
        ("fluxcd.controlplane.io", "ResourceSet") => {
            let mut all = named(object, "/spec/resources/*", "/metadata/name");
            if text(object, "/spec/resourcesTemplate").contains("kind: Namespace") {
                all.push("*".to_owned());
            }
            all
        }
        _ => Vec::new(),
    }
}

/// The namespace that Helm creates for a release: not the one of the HelmRelease itself, which is there before.
fn of_release(release: &Value) -> Option<String> {
    let target = text(release, "/spec/targetNamespace");
    let creates = release.pointer("/spec/install/createNamespace") == Some(&Value::Bool(true));
    let is_another = !target.is_empty() && target != name_of(release).namespace;
    (creates && is_another).then(|| target.to_owned())
}

/// The names of the Namespaces among the values of a pattern.
fn named(object: &Value, pattern: &str, name: &str) -> Vec<String> {
    let values = select(object, pattern);
    let namespaces = values.iter().filter(|(_, value)| text(value, "/kind") == NAMESPACE);
    namespaces.map(|(_, value)| text(value, name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn namespaces_are_created_by_several_kinds() {
        let of = |group: &str, kind: &str, spec: Value| {
            let metadata = json!({"name": "own", "namespace": "there"});
            of_object(&json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": metadata, "spec": spec}))
        };
        let release = |spec: Value| of(HELM_GROUP, "HelmRelease", spec);
        let install = json!({"createNamespace": true});
        assert_eq!(release(json!({"targetNamespace": "a", "install": install})), ["a"]);
        assert_eq!(release(json!({"targetNamespace": "a"})), [""; 0]);
        assert_eq!(
            release(json!({"targetNamespace": "there", "install": install})),
            [""; 0]
        );
        assert_eq!(of("hnc.x-k8s.io", "SubnamespaceAnchor", json!({})), ["own"]);
        let generate = json!({"rules": [{"generate": {"kind": "Namespace", "name": "a"}}, {"generate": {"kind": "Secret", "name": "b"}}]});
        assert_eq!(of("kyverno.io", "ClusterPolicy", generate), ["a"]);
        let inline = json!({"resources": [{"kind": "Namespace", "metadata": {"name": "t-<< inputs.id >>"}}]});
        let set = |spec: Value| of("fluxcd.controlplane.io", "ResourceSet", spec);
        assert_eq!(set(inline), ["t-<< inputs.id >>"]);
        assert_eq!(
            set(json!({"resourcesTemplate": "apiVersion: v1\nkind: Namespace\n"})),
            ["*"]
        );
        assert_eq!(of("apps", "Deployment", json!({})), [""; 0]);
    }
}
