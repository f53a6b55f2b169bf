//! Server-side apply of manifests, for an installation.

use std::time::Duration;

use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::dynamic::Apply;
use crate::client::cluster::Cluster;
use crate::error::ClusterError;
use crate::kind::{CUSTOM_RESOURCE_DEFINITION, Kind};
use crate::object::Object;
use bumpwright_api::ObjectName;

/// The interval between reads of a definition.
const PAUSE: Duration = Duration::from_millis(200);

/// A status and who wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusWriter {
    /// The field manager that wrote the status last; empty when the server does not say.
    pub manager: String,
    pub status: Value,
}

impl Cluster {
    /// Applies one manifest, written in YAML. Conflicting fields are taken over: an installation should be
    /// as in the manifest.
    pub async fn apply(
        &self,
        kind: &'static Kind,
        name: &ObjectName,
        how: Apply<'_>,
        manifest: &str,
    ) -> Result<(), ClusterError> {
        let path = self.beside(kind, name).resource_url().to_owned();
        let params = PatchParams {
            dry_run: how.dry_run,
            ..PatchParams::apply(how.manager).force()
        };
        let request = Request::new(path).patch(&name.name, &params, &Patch::Apply(json!({})));
        let request = request.map_err(|error| ClusterError::Unreachable(error.to_string()))?;
        // The server parses YAML itself, so it gets the text that `--export` prints.
        let request = request.map(|_| manifest.as_bytes().to_vec());
        self.wait_for_turn(&name.namespace).await?;
        self.bounded(self.whole().request::<DynamicObject>(request))
            .await
            .map(drop)
    }

    /// The field managers of an object; None when it does not exist.
    pub async fn managers(&self, kind: &'static Kind, name: &ObjectName) -> Result<Option<Vec<String>>, ClusterError> {
        self.wait_for_turn(&name.namespace).await?;
        let found = self.bounded(self.beside(kind, name).get_opt(&name.name)).await?;
        Ok(found.map(|object| {
            let fields = object.metadata.managed_fields.into_iter().flatten();
            fields.filter_map(|entry| entry.manager).collect()
        }))
    }

    /// The status of an object, and who wrote it last; None when the object does not exist.
    pub async fn status_writer(
        &self,
        kind: &'static Kind,
        name: &ObjectName,
    ) -> Result<Option<StatusWriter>, ClusterError> {
        self.wait_for_turn(&name.namespace).await?;
        let found = self.bounded(self.beside(kind, name).get_opt(&name.name)).await?;
        Ok(found.map(|object| {
            let fields = object.metadata.managed_fields.into_iter().flatten();
            let of_status = fields.filter(|entry| entry.subresource.as_deref() == Some("status"));
            let last = of_status.max_by(|a, b| a.time.cmp(&b.time));
            StatusWriter {
                manager: last.and_then(|entry| entry.manager).unwrap_or_default(),
                status: object.data.get("status").cloned().unwrap_or_default(),
            }
        }))
    }

    /// Waits until a definition is established, at most for `timeout`.
    ///
    /// # Errors
    /// Any error of the server, and [`ClusterError::Unreachable`] on timeout.
    pub async fn established(&self, name: &ObjectName, timeout: Duration) -> Result<(), ClusterError> {
        let end = Instant::now() + timeout;
        loop {
            let object = self.get(&CUSTOM_RESOURCE_DEFINITION, name).await?;
            if is_established(&object) {
                return Ok(());
            }
            if Instant::now() >= end {
                let words = format!("not established within {} seconds", timeout.as_secs());
                return Err(ClusterError::Unreachable(words));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn is_established(object: &Object) -> bool {
    let status = object.status();
    let conditions = status.get("conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}
