//! Waiting for objects that later stages depend on.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use serde_json::Value;
use tokio::time::Instant;

use super::error::ApplyError;
use super::settings::Settings;
use bumpwright_api::ObjectId;
use bumpwright_gostd::Time;
use bumpwright_health::{self as health, Status};
use bumpwright_kube::{Cluster, Resource};

/// The pause between two polls; it grows.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Waits until all are ready, at most for the timeout of the settings.
pub(super) async fn wait(
    cluster: &Cluster,
    settings: &Settings,
    mut objects: Vec<(ObjectId, Arc<Resource>)>,
) -> Result<(), ApplyError> {
    let end = Instant::now() + settings.timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        let looks = stream::iter(objects.into_iter().map(|(id, resource)| async move {
            let state = match cluster.fetch(&resource, &id.name).await {
                Ok(object) => status(&object),
                Err(error) if error.is_not_found() => Status::NotFound,
                Err(_) => Status::Unknown,
            };
            (id, resource, state)
        }));
        let looks: Vec<_> = looks.buffered(settings.concurrency.max(1)).collect().await;
        let open: Vec<_> = looks
            .into_iter()
            .filter(|(.., state)| *state != Status::Current)
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        if Instant::now() + pause >= end {
            let open = open.iter();
            let open = open.map(|(id, _, state)| format!("{id} status: '{state}'"));
            return Err(ApplyError::NotReady(open.collect::<Vec<_>>().join(", ")));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        objects = open.into_iter().map(|(id, resource, _)| (id, resource)).collect();
    }
}

/// The progress of an object. Definitions, namespaces, roles and classes always have one.
fn status(object: &Value) -> Status {
    let health = health::compute(object, &Time::unix(0, 0));
    health.map_or(Status::Unknown, |health| health.status)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The rules of cli-utils for these kinds (`pkg/kstatus/status`, *core* and *generic*).
    #[test]
    fn states_are_those_of_kstatus() {
        let definition = |conditions: Value| json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {"conditions": conditions}});
        let condition =
            |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason});
        for (object, state) in [
            (json!({"kind": "Namespace"}), Status::Current),
            (
                json!({"kind": "Namespace", "metadata": {"deletionTimestamp": "t"}}),
                Status::Terminating,
            ),
            (definition(json!([])), Status::InProgress),
            (
                definition(json!([condition("Established", "True", "")])),
                Status::Current,
            ),
            (
                definition(json!([condition("Established", "False", "Installing")])),
                Status::InProgress,
            ),
            (
                definition(json!([condition("Established", "False", "NotAccepted")])),
                Status::Failed,
            ),
            (
                definition(json!([condition("NamesAccepted", "False", "")])),
                Status::Failed,
            ),
            (
                json!({"kind": "GatewayClass", "metadata": {"generation": 2}, "status": {"observedGeneration": 1}}),
                Status::InProgress,
            ),
            (
                json!({"kind": "XClass", "status": {"conditions": [condition("Ready", "False", "")]}}),
                Status::InProgress,
            ),
            (
                json!({"kind": "XClass", "status": {"conditions": [condition("Stalled", "True", "")]}}),
                Status::Failed,
            ),
        ] {
            assert_eq!(status(&object), state, "{object}");
        }
    }
}
