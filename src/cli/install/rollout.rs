//! Whether the Deployment is ready, by the rules of `kubectl rollout status`; and if not, why, by its conditions, its ReplicaSets
//! and its pods.

use serde_json::Value;

use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, ClusterError, DEPLOYMENT, POD, REPLICA_SET, Resource};

use crate::cli::installed::{at, items};
use crate::cli::words;

/// The state of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Rollout {
    /// All replicas are updated and available.
    Done,
    /// What is awaited, and what is in the way.
    NotYet(String),
    /// The Deployment's controller has given up.
    Failed(String),
}

/// The labels of the pods and ReplicaSets.
pub(in crate::cli) const SELECTOR: &str = "app=bumpwright";

/// Looks at the Deployment of an installation.
///
/// # Errors
/// The Deployment cannot be read. Pods and ReplicaSets that cannot be listed are among the reasons.
pub(in crate::cli) async fn look(cluster: &Cluster, namespace: &str) -> Result<Rollout, ClusterError> {
    let name = ObjectName::new(namespace, "bumpwright");
    let deployment = cluster.fetch(&Resource::of(&DEPLOYMENT, true), &name).await?;
    Ok(of(cluster, namespace, &deployment).await)
}

/// The rollout of a Deployment that was read.
pub(in crate::cli) async fn of(cluster: &Cluster, namespace: &str, deployment: &Value) -> Rollout {
    let Some(awaited) = awaited(deployment) else {
        return Rollout::Done;
    };
    let mut reasons = vec![awaited];
    reasons.extend(condition_reasons(deployment));
    for (kind, of_one) in [
        (&REPLICA_SET, replica_set_reasons as fn(&Value) -> Vec<String>),
        (&POD, pod_reasons),
    ] {
        match cluster.list(&Resource::of(kind, true), namespace, SELECTOR).await {
            Ok(objects) => reasons.extend(objects.iter().flat_map(of_one)),
            Err(error) => reasons.push(format!("cannot list {}: {error}", kind.plural)),
        }
    }
    reasons.dedup();
    let text = words::inline(&reasons.join("; ")).into_owned();
    match is_over(deployment) {
        true => Rollout::Failed(format!("has not become ready in time: {text}")),
        false => Rollout::NotYet(text),
    }
}

/// What a rollout still waits for; None when it is complete.
fn awaited(deployment: &Value) -> Option<String> {
    let number = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_u64);
    let status = |field: &str| number(&format!("/status/{field}")).unwrap_or(0);
    if number("/metadata/generation") > number("/status/observedGeneration") {
        return Some("the Deployment's controller has not seen it yet".to_owned());
    }
    let wanted = number("/spec/replicas").unwrap_or(1);
    let (updated, available) = (status("updatedReplicas"), status("availableReplicas"));
    if updated < wanted {
        return Some(format!("{updated} of {wanted} replicas are updated"));
    }
    if available < updated {
        return Some(format!("{available} of {updated} replicas are available"));
    }
    match status("replicas").saturating_sub(updated) {
        0 => None,
        old => Some(format!(
            "{} to end",
            words::count(usize::try_from(old).ok()?, "old replica")
        )),
    }
}

/// Whether the controller waits no longer (`spec.progressDeadlineSeconds`).
fn is_over(deployment: &Value) -> bool {
    conditions(deployment)
        .any(|one| text(one, "type") == "Progressing" && text(one, "reason") == "ProgressDeadlineExceeded")
}

fn condition_reasons(deployment: &Value) -> Vec<String> {
    let failed = conditions(deployment).filter(|one| match text(one, "type") {
        "ReplicaFailure" => text(one, "status") == "True",
        "Progressing" => text(one, "status") == "False",
        _ => false,
    });
    failed.map(with_message).collect()
}

/// A ReplicaSet that cannot make pods: quotas, admission, a ServiceAccount that is not there.
fn replica_set_reasons(replica_set: &Value) -> Vec<String> {
    let failed =
        conditions(replica_set).filter(|one| text(one, "type") == "ReplicaFailure" && text(one, "status") == "True");
    failed.map(with_message).collect()
}

/// Why a pod is not ready; nothing for one that is, or that is ending.
fn pod_reasons(pod: &Value) -> Vec<String> {
    let is_ready = conditions(pod).any(|one| text(one, "type") == "Ready" && text(one, "status") == "True");
    if is_ready || pod.pointer("/metadata/deletionTimestamp").is_some() {
        return Vec::new();
    }
    let named = |reason: String| format!("pod {}: {reason}", at(pod, "/metadata/name"));
    let unscheduled = conditions(pod).find(|one| text(one, "type") == "PodScheduled" && text(one, "status") == "False");
    if let Some(condition) = unscheduled {
        return vec![named(with_message(condition))];
    }
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let statuses = statuses
        .into_iter()
        .filter_map(|pointer| pod.pointer(pointer)?.as_array())
        .flatten();
    let reasons: Vec<String> = statuses.filter_map(container_reason).map(named).collect();
    if !reasons.is_empty() {
        return reasons;
    }
    match at(pod, "/status/reason") {
        // Evicted, say.
        "" => vec![named(at(pod, "/status/phase").to_owned())],
        reason => vec![named(joined(reason, at(pod, "/status/message")))],
    }
}

fn container_reason(status: &Value) -> Option<String> {
    if status.get("ready") == Some(&Value::Bool(true)) {
        return None;
    }
    if let Some(waiting) = status.pointer("/state/waiting") {
        let reason = text(waiting, "reason");
        return Some(match status.pointer("/lastState/terminated").map(ended) {
            Some(ended) => joined(reason, &ended),
            None => with_message(waiting),
        });
    }
    if let Some(terminated) = status.pointer("/state/terminated") {
        // An init container that has done its work.
        let is_done = terminated.get("exitCode").and_then(Value::as_i64) == Some(0);
        return (!is_done).then(|| ended(terminated));
    }
    let name = text(status, "name");
    let running = status.pointer("/state/running");
    running.map(|_| format!("container {name} runs and is not ready yet"))
}

/// How a container ended: its exit code, and the end of what it said.
fn ended(terminated: &Value) -> String {
    const LINES: usize = 3;
    let message = text(terminated, "message").trim();
    let mut lines: Vec<&str> = message.lines().rev().take(LINES).collect();
    lines.reverse();
    let code = terminated.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
    let how = match text(terminated, "reason") {
        "" | "Error" | "Completed" => format!("exit code {code}"),
        // OOMKilled, say.
        reason => format!("{reason}, exit code {code}"),
    };
    joined(&how, &lines.join(" / "))
}

fn with_message(one: &Value) -> String {
    joined(text(one, "reason"), text(one, "message"))
}

fn joined(reason: &str, message: &str) -> String {
    match message {
        "" => reason.to_owned(),
        message => format!("{reason}: {message}"),
    }
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    items(object, "/status/conditions")
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}
