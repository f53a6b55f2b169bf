//! Access reviews: what the API server allows.

use bumpwright_api::ObjectName;
use bumpwright_kube::{AccessQuestion, Cluster, ClusterError};

pub(super) fn question<'a>(verb: &'a str, group: &'a str, resource: &'a str, namespace: &'a str) -> AccessQuestion<'a> {
    AccessQuestion {
        verb,
        group,
        resource,
        namespace,
        name: "",
    }
}

/// Those of these requests that are denied to a ServiceAccount, or to the caller, in words.
pub(super) async fn denied(
    cluster: &Cluster,
    account: Option<&ObjectName>,
    questions: &[AccessQuestion<'_>],
) -> Result<Vec<String>, ClusterError> {
    let mut denied = Vec::new();
    for one in questions {
        if !cluster.may(account, one).await? {
            denied.push(words(one));
        }
    }
    Ok(denied)
}

/// `patch deployments.apps/status in flux-system`
fn words(one: &AccessQuestion<'_>) -> String {
    let (resource, subresource) = one
        .resource
        .split_at(one.resource.find('/').unwrap_or(one.resource.len()));
    let group = match one.group {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let place = match one.namespace {
        "" => String::new(),
        namespace => format!(" in {namespace}"),
    };
    format!("{} {resource}{group}{subresource}{place}", one.verb)
}
