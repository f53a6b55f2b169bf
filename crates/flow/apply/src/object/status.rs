//! The status of an object in the cluster.

use serde_json::{Value, json};

use bumpwright_api::ObjectName;
use bumpwright_cel::{Health as Judged, HealthChecks, HealthExprs};
use bumpwright_gostd::Time;
use bumpwright_health::{Health, Status, compute};
use bumpwright_kube::{Cluster, ClusterError, Resource};

/// The status of an object by the health checks of its Kustomization, or else as kstatus has it. Of Secrets and
/// ConfigMaps nothing but the metadata is asked for.
///
/// # Errors
/// Whatever the server says, except that the object does not exist.
pub async fn status_of(
    cluster: &Cluster,
    resource: &Resource,
    name: &ObjectName,
    checks: &HealthChecks,
    now: &Time,
) -> Result<Health, ClusterError> {
    let kind = &resource.gvk;
    let has_data = kind.group.is_empty() && matches!(kind.kind.as_str(), "Secret" | "ConfigMap");
    let found = if has_data {
        cluster.fetch_metadata(resource, name).await
    } else {
        cluster.fetch(resource, name).await
    };
    let check = checks.find(&kind.api_version(), &kind.kind);
    match found {
        Ok(_) if has_data && check.is_some() => {
            let why = format!(
                "spec.healthCheckExprs are about a {}, whose data is not read here",
                kind.kind
            );
            Ok(health(Status::Unknown, why))
        }
        Ok(object) if has_data => {
            // The answer's own kind is that of metadata.
            let metadata = object.get("metadata").cloned().unwrap_or_default();
            let object = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata});
            Ok(status_in(&object, None, now))
        }
        Ok(object) => Ok(status_in(&object, check, now)),
        Err(error) if error.is_not_found() => Ok(health(Status::NotFound, "Resource not found".to_owned())),
        Err(error) => Err(error),
    }
}

/// The status of an object that was read: by the expressions for its kind, or else as kstatus has it.
#[must_use]
pub fn status_in(object: &Value, check: Option<&HealthExprs>, now: &Time) -> Health {
    let Some(check) = check else {
        return compute(object, now).unwrap_or_else(|error| health(Status::Unknown, error.to_string()));
    };
    let by = |status| health(status, "by spec.healthCheckExprs of its Kustomization".to_owned());
    match check.status(object) {
        Ok(Judged::Current) => by(Status::Current),
        Ok(Judged::Failed) => by(Status::Failed),
        Ok(Judged::InProgress) => by(Status::InProgress),
        Err(error) => health(Status::Unknown, format!("spec.healthCheckExprs: {error}")),
    }
}

fn health(status: Status, message: String) -> Health {
    Health {
        status,
        message,
        condition: None,
    }
}
