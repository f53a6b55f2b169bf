//! `healthChecks` of objects that are not built.

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP, KUSTOMIZE_GROUP, select, text};
use crate::view::{FleetObject, Node};
use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_findings::{Finding, Rule, Severity};

/// Findings about health checks.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.of_kind(KUSTOMIZE_GROUP, "Kustomization") {
        let name = super::cluster::name_of(&object.value);
        let Some(own) = cluster.fleet.kustomization(&name).filter(|own| own.product.is_ok()) else {
            continue;
        };
        for (pointer, reference) in select(&object.value, "/spec/healthChecks/*") {
            let id = id(reference);
            if [&id.name.name, &id.name.namespace]
                .iter()
                .any(|text| text.contains("${"))
                || is_built(cluster, own, &id)
            {
                continue;
            }
            let shown = match id.name.namespace.as_str() {
                "" => format!("{} {}", id.kind, id.name.name),
                _ => format!("{} {}", id.kind, id.name),
            };
            let message = format!("{shown} of healthChecks is not built by any Kustomization");
            let pointer = format!("{pointer}/name");
            let finding = cluster.at(Rule::HealthCheckNotBuilt, node, object, &pointer, message);
            let near = cluster.suggestion(&id.group, &id.kind, &id.name);
            let is_misspelt = near.is_some();
            let finding = cluster.missing(finding, near);
            found.push(match maker(own, &id).filter(|_| !is_misspelt) {
                Some(maker) => finding.severity(Severity::Note).help(format!("{maker} may make it")),
                None => finding,
            });
        }
    }
}

/// The object of a health check.
fn id(reference: &Value) -> ObjectId {
    let api_version = match text(reference, "/apiVersion") {
        "" => "apps/v1",
        api_version => api_version,
    };
    ObjectId {
        group: api_version.split_once('/').map_or("", |(group, _)| group).to_owned(),
        kind: text(reference, "/kind").to_owned(),
        name: ObjectName::new(text(reference, "/namespace"), text(reference, "/name")),
    }
}

fn is_built(cluster: &Cluster<'_>, own: &Node, id: &ObjectId) -> bool {
    let here = || {
        let is_it = |built: ObjectId| {
            let is_same_kind = (&built.group, &built.kind, &built.name.name) == (&id.group, &id.kind, &id.name.name);
            // Of a cluster-scoped object a namespace does not matter, neither here nor there.
            let is_cluster_scoped = built.name.namespace.is_empty() || id.name.namespace.is_empty();
            is_same_kind && (is_cluster_scoped || built.name.namespace == id.name.namespace)
        };
        own.objects().iter().any(|object| is_it(object.id()))
    };
    let elsewhere = || !own.is_elsewhere() && cluster.fleet.object(&id.group, &id.kind, &id.name).is_some();
    here() || elsewhere()
}

/// An object of the Kustomization that an operator may make the object of: a Helm release, or a custom resource whose name is in its own.
fn maker(node: &Node, id: &ObjectId) -> Option<String> {
    let is_release = |object: &ObjectId| (object.group.as_str(), object.kind.as_str()) == (HELM_GROUP, "HelmRelease");
    let is_custom = |object: &ObjectId| object.group.contains('.') && !object.group.ends_with(".k8s.io");
    let is_named = |object: &ObjectId| is_custom(object) && id.name.name.contains(&object.name.name);
    let mut objects = node.objects().iter().map(FleetObject::id);
    let found = objects.find(|object| is_release(object) || (is_named(object) && object.kind != id.kind))?;
    Some(format!("{} {}", found.kind, found.name))
}
