//! Waiting for what later stages build on.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use serde_json::Value;
use tokio::time::Instant;

use super::error::ApplyError;
use super::identity::ObjectId;
use super::settings::Settings;
use crate::cluster::{Cluster, Resource};

/// The state of an object (kstatus).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It is what it should be.
    Current,
    /// It is not, in the word of kstatus: `InProgress`, `Failed`, `Terminating`, `NotFound`, `Unknown`.
    Other(&'static str),
}

/// The rules of kstatus as far as definitions, namespaces, cluster roles and classes need them.
#[must_use]
pub fn definition_readiness(object: &Value) -> Readiness {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    if object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null())
    {
        return Readiness::Other("Terminating");
    }
    let behind = |observed: i64| number("/metadata/generation").is_some_and(|generation| generation != observed);
    if number("/status/observedGeneration").is_some_and(behind) {
        return Readiness::Other("InProgress");
    }
    let condition = |kind: &str| {
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        conditions.find(|condition| condition["type"] == kind)
    };
    let is = |kind: &str, status: &str| condition(kind).is_some_and(|condition| condition["status"] == status);
    let is_definition = object
        .get("kind")
        .is_some_and(|kind| kind == "CustomResourceDefinition");
    let failed = match is_definition {
        true => {
            is("NamesAccepted", "False") || (is("Established", "False") && !is_installing(condition("Established")))
        }
        false => is("Stalled", "True"),
    };
    let ready = match is_definition {
        true => is("Established", "True"),
        false => {
            !is("Reconciling", "True") && !condition("Ready").is_some_and(|condition| condition["status"] != "True")
        }
    };
    match (failed, ready) {
        (true, _) => Readiness::Other("Failed"),
        (false, true) => Readiness::Current,
        (false, false) => Readiness::Other("InProgress"),
    }
}

fn is_installing(established: Option<&Value>) -> bool {
    established.is_some_and(|condition| condition["reason"] == "Installing")
}

/// The pause between two looks; it grows.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Waits until all are ready, at most for the patience of the settings.
pub(super) async fn wait(
    cluster: &Cluster,
    settings: &Settings,
    mut objects: Vec<(ObjectId, Arc<Resource>)>,
) -> Result<(), ApplyError> {
    let end = Instant::now() + settings.patience;
    let mut pause = FIRST_PAUSE;
    loop {
        let looks = stream::iter(objects.into_iter().map(|(id, resource)| async move {
            let state = match cluster.fetch(&resource, &id.name).await {
                Ok(object) => (settings.readiness)(&object),
                Err(error) if error.is_not_found() => Readiness::Other("NotFound"),
                Err(_) => Readiness::Other("Unknown"),
            };
            (id, resource, state)
        }));
        let looks: Vec<_> = looks.buffered(settings.concurrency.max(1)).collect().await;
        let open: Vec<_> = looks
            .into_iter()
            .filter(|(.., state)| *state != Readiness::Current)
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        if Instant::now() + pause >= end {
            let open = open.iter().map(|(id, _, state)| match state {
                Readiness::Other(word) => format!("{} status: '{word}'", id.subject()),
                Readiness::Current => id.subject(),
            });
            return Err(ApplyError::NotReady(open.collect::<Vec<_>>().join(", ")));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        objects = open.into_iter().map(|(id, resource, _)| (id, resource)).collect();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The rules that cli-utils has for these kinds (`pkg/kstatus/status`, *core* and *generic*).
    #[test]
    fn states_are_those_of_kstatus() {
        let definition =
            |conditions: Value| json!({"kind": "CustomResourceDefinition", "status": {"conditions": conditions}});
        let condition =
            |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason});
        let other = Readiness::Other;
        for (object, state) in [
            (json!({"kind": "Namespace"}), Readiness::Current),
            (
                json!({"kind": "Namespace", "metadata": {"deletionTimestamp": "t"}}),
                other("Terminating"),
            ),
            (definition(json!([])), other("InProgress")),
            (
                definition(json!([condition("Established", "True", "")])),
                Readiness::Current,
            ),
            (
                definition(json!([condition("Established", "False", "Installing")])),
                other("InProgress"),
            ),
            (
                definition(json!([condition("Established", "False", "NotAccepted")])),
                other("Failed"),
            ),
            (
                definition(json!([condition("NamesAccepted", "False", "")])),
                other("Failed"),
            ),
            (
                json!({"kind": "GatewayClass", "metadata": {"generation": 2}, "status": {"observedGeneration": 1}}),
                other("InProgress"),
            ),
            (
                json!({"kind": "XClass", "status": {"conditions": [condition("Ready", "False", "")]}}),
                other("InProgress"),
            ),
            (
                json!({"kind": "XClass", "status": {"conditions": [condition("Stalled", "True", "")]}}),
                other("Failed"),
            ),
        ] {
            assert_eq!(definition_readiness(&object), state, "{object}");
        }
    }
}
