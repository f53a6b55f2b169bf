//! The end of what runs, before something else takes its place or its finalizers.

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::cli::error::CliError;
use crate::cli::install::MANAGER;
use crate::cli::install::rollout::SELECTOR;
use crate::cli::installed::{at, items};
use crate::cli::words;
use bumpwright_api::{GoDuration, ObjectName};
use bumpwright_kube::{Cluster, ClusterError, Kind, POD, Resource, STATEFUL_SET};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// Why it has not ended.
#[derive(Debug)]
pub(crate) enum StopError {
    /// The server does not do what is asked for.
    Refused(ClusterError),
    /// These pods have not ended in time.
    Running(Vec<String>),
}

/// That pods have not ended in time.
pub(crate) fn not_ended(object: &str, timeout: GoDuration, pods: &[String]) -> CliError {
    CliError::new(format!(
        "the pods of {object} have not ended in {timeout}: {}",
        words::some(pods)
    ))
    .hint("once they have, run the command again (kubectl delete pod --force if their node is lost)")
}

/// Scales a Deployment or StatefulSet of bumpwright to nothing.
pub(crate) async fn scale_down(cluster: &Cluster, kind: &'static Kind, namespace: &str) -> Result<(), StopError> {
    let name = ObjectName::new(namespace, "bumpwright");
    let none = json!([{"op": "replace", "path": "/spec/replicas", "value": 0}]);
    let workload = Resource::of(kind, true);
    let scaled = cluster.json_patch(&workload, &name, MANAGER, &none).await;
    scaled.map(drop).map_err(StopError::Refused)
}

/// Waits until the pods of bumpwright have ended, but for those of the workload of a kind: then they have released
/// their leases, and put no finalizer back. Tells which are left, whenever that changes.
pub(crate) async fn await_end(
    cluster: &Cluster,
    namespace: &str,
    but_of: Option<&Kind>,
    end: Instant,
    tell: impl Fn(&[String]),
) -> Result<(), StopError> {
    let mut reported = Vec::new();
    loop {
        let pods = cluster.list(&Resource::of(&POD, true), namespace, SELECTOR).await;
        let pods = pods.map_err(StopError::Refused)?;
        let left = pods
            .iter()
            .filter(|pod| runs(pod) && !but_of.is_some_and(|kind| is_of(pod, kind)));
        let left: Vec<String> = left.map(|pod| at(pod, "/metadata/name").to_owned()).collect();
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= end {
            return Err(StopError::Running(left));
        }
        if left != reported {
            tell(&left);
            reported = left;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether a process may be in it. One that was evicted is left behind until its owner is deleted.
fn runs(pod: &Value) -> bool {
    !matches!(at(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Whether the controller of workloads of this kind made the pod. Those of a Deployment are made by a `ReplicaSet`.
fn is_of(pod: &Value, kind: &Kind) -> bool {
    let maker = if *kind == STATEFUL_SET {
        "StatefulSet"
    } else {
        "ReplicaSet"
    };
    items(pod, "/metadata/ownerReferences").any(|owner| at(owner, "/kind") == maker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_kube::DEPLOYMENT;

    #[test]
    fn a_pod_is_of_the_workload_whose_controller_made_it() {
        let pod = |owner: &str, phase: &str| json!({"metadata": {"ownerReferences": [{"kind": owner}]}, "status": {"phase": phase}});
        let of = |pod: &Value| (is_of(pod, &DEPLOYMENT), is_of(pod, &STATEFUL_SET), runs(pod));
        assert_eq!(of(&pod("ReplicaSet", "Running")), (true, false, true));
        assert_eq!(of(&pod("StatefulSet", "Failed")), (false, true, false));
        assert_eq!(of(&json!({})), (false, false, true));
    }
}
