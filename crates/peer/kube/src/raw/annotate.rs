//! Annotations with the state of a controller: only the value that was read is replaced. A process that was paused
//! while another one became the leader, or whose request was under way for long, overwrites nothing newer.

use serde_json::{Value, json};

use crate::client::cluster::Cluster;
use crate::error::ClusterError;
use crate::kind::Kind;
use crate::object::Object;

/// Attempts of a write, while others write to the same object.
const ATTEMPTS: u32 = 5;

impl Cluster {
    /// Sets an annotation of an object, or removes it, if it still is as in `known`, an earlier state of the object.
    /// Returns its state after that.
    ///
    /// # Errors
    /// [`ClusterError::Conflict`] when the annotation was changed since, or another object has the name,
    /// and the server's errors.
    pub async fn annotate(
        &self,
        (kind, manager): (&'static Kind, &str),
        known: &Object,
        key: &str,
        value: Option<&str>,
    ) -> Result<Object, ClusterError> {
        let mut version = known.resource_version.clone();
        for _ in 0..ATTEMPTS {
            let metadata: Value =
                json!({ "uid": known.uid, "resourceVersion": version, "annotations": { key: value } });
            let patch = json!({ "metadata": metadata });
            match self.patch(kind, &known.name, manager, &patch).await {
                Err(ClusterError::Conflict(_)) => {}
                other => return other,
            }
            let now = self.get(kind, &known.name).await?;
            if now.uid != known.uid || now.annotations.get(key) != known.annotations.get(key) {
                break;
            }
            version = now.resource_version;
        }
        Err(ClusterError::Conflict(format!(
            "the annotation {key} of {} {} was changed meanwhile",
            kind.kind, known.name
        )))
    }
}
