//! The status of an object in the cluster.

use serde_json::{Value, json};

use bumpwright_api::ObjectName;
use bumpwright_gostd::Time;
use bumpwright_health::{Health, Status, compute};
use bumpwright_kube::{Answered, Cluster, ClusterError, Resource};

/// The status of an object, as kstatus has it. Of Secrets and ConfigMaps nothing but the metadata is asked for.
///
/// # Errors
/// Whatever the server says, except that the object does not exist.
pub async fn status_of(
    cluster: &Cluster,
    resource: &Resource,
    name: &ObjectName,
    now: &Time,
) -> Result<Health, ClusterError> {
    let kind = &resource.gvk;
    let has_data = kind.group.is_empty() && matches!(kind.kind.as_str(), "Secret" | "ConfigMap");
    let found: Result<Answered<Value>, ClusterError> = match has_data {
        true => cluster.fetch_metadata(resource, name).await,
        false => cluster.fetch(resource, name).await,
    };
    let computed = match found {
        Ok(object) if has_data => {
            // The answer's own kind is that of metadata.
            let metadata = object.get("metadata").cloned().unwrap_or_default();
            let object = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata});
            compute(&object, now)
        }
        Ok(object) => compute(&object, now),
        Err(error) if error.is_not_found() => return Ok(health(Status::NotFound, "Resource not found".to_owned())),
        Err(error) => return Err(error),
    };
    Ok(computed.unwrap_or_else(|error| health(Status::Unknown, error.to_string())))
}

fn health(status: Status, message: String) -> Health {
    Health {
        status,
        message,
        condition: None,
    }
}
