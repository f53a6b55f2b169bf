//! What is in a namespace besides an installation.

use serde_json::Value;

use super::plan::Plan;
use crate::cli::installed::{CONTROLLERS, at, items};
use bumpwright_controllers::REVIEW_CONTROLLER;
use bumpwright_kube::{Cluster, ClusterError, Kind, LEASE, Resource, SERVICE_ACCOUNT, lease_name};

/// The objects of a namespace that are neither in the plan nor made by the cluster itself.
///
/// # Errors
/// Whatever the server says about any kind: what cannot be listed may be there.
pub(super) async fn others(cluster: &Cluster, namespace: &str, plan: &Plan) -> Result<Vec<String>, ClusterError> {
    let mut others = Vec::new();
    for resource in cluster.namespaced_resources().await? {
        // Events, endpoints and metrics of other objects.
        let is_trace =
            matches!(resource.plural.as_str(), "events" | "endpoints") || resource.gvk.group == "metrics.k8s.io";
        if is_trace || plan.definitions.iter().any(|one| is(&resource, one.kind)) {
            continue;
        }
        let listed = match cluster.list_metadata(&resource, namespace, "").await {
            // A definition that has just gone.
            Err(error) if error.is_not_found() => continue,
            listed => listed?,
        };
        let foreign = listed.iter().filter(|object| !belongs(&resource, object, plan));
        others.extend(foreign.map(|object| format!("{}/{}", resource.plural, at(object, "/metadata/name"))));
    }
    Ok(others)
}

/// Whether an object goes with the installation, or with the namespace.
fn belongs(resource: &Resource, object: &Value, plan: &Plan) -> bool {
    let name = at(object, "/metadata/name");
    // It follows its owner, or is on its way.
    if items(object, "/metadata/ownerReferences").next().is_some()
        || object.pointer("/metadata/deletionTimestamp").is_some()
    {
        return true;
    }
    let is_planned = plan
        .objects
        .iter()
        .any(|one| is(resource, one.kind) && one.name.name == name);
    let is_lease = name.starts_with("bumpwright-shard-")
        || name.starts_with("bumpwright-shards-")
        || CONTROLLERS
            .iter()
            .map(|(controller, _)| *controller)
            .chain([REVIEW_CONTROLLER])
            .any(|controller| lease_name(controller, None) == name);
    is_planned
        || (is(resource, &LEASE) && is_lease)
        || (is(resource, &SERVICE_ACCOUNT) && name == "default")
        || (resource.plural == "configmaps" && name == "kube-root-ca.crt")
}

fn is(resource: &Resource, kind: &Kind) -> bool {
    resource.gvk.group == kind.group && resource.gvk.kind == kind.kind
}
