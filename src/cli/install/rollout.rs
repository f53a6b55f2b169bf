//! Whether the Deployment or StatefulSet is ready, by the rules of `kubectl rollout status`; and if not, why, by its
//! conditions, its ReplicaSets or events, and its pods.

use serde_json::Value;

use bumpwright_api::ObjectName;
use bumpwright_json::Texts;
use bumpwright_kube::{Cluster, ClusterError, EVENT, Kind, POD, REPLICA_SET, Resource, STATEFUL_SET};

use crate::cli::installed::{self, at, items};
use crate::cli::words;

/// The state of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Rollout {
    /// All replicas are updated and available.
    Done,
    /// What is awaited, and what is in the way.
    NotYet(String),
    /// The Deployment's controller has given up. That of a StatefulSet never does.
    Failed(String),
}

/// The labels of the pods, of ReplicaSets, and of volume claims.
pub(in crate::cli) const SELECTOR: &str = "app=bumpwright";

/// That all replicas are: `deployment.apps/bumpwright is ready`.
pub(in crate::cli) fn ready(kind: &Kind, replicas: u64) -> String {
    let is_ready = format!("{} is ready", installed::workload(kind));
    if *kind == STATEFUL_SET {
        format!("{is_ready}: {replicas} of {replicas} members")
    } else {
        is_ready
    }
}

/// Looks at the Deployment or StatefulSet of an installation.
///
/// # Errors
/// It cannot be read. Pods and ReplicaSets that cannot be listed are among the reasons.
pub(in crate::cli) async fn look(
    cluster: &Cluster,
    kind: &'static Kind,
    name: &ObjectName,
) -> Result<Rollout, ClusterError> {
    let workload = cluster.fetch(&Resource::of(kind, true), name).await?;
    Ok(of(cluster, kind, &name.namespace, &workload).await)
}

/// The rollout of a Deployment or StatefulSet that was read.
pub(in crate::cli) async fn of(cluster: &Cluster, kind: &Kind, namespace: &str, workload: &Value) -> Rollout {
    let is_set = *kind == STATEFUL_SET;
    let awaited = if is_set {
        awaited_of_set(workload)
    } else {
        awaited(workload)
    };
    let Some(awaited) = awaited else {
        return Rollout::Done;
    };
    let mut reasons = vec![awaited];
    reasons.extend(condition_reasons(workload));
    if is_set {
        reasons.extend(refusal(cluster, namespace, workload).await)
    } else {
        list_reasons(cluster, &REPLICA_SET, namespace, replica_set_reasons, &mut reasons).await
    }
    list_reasons(cluster, &POD, namespace, pod_reasons, &mut reasons).await;
    reasons.dedup();
    let text = words::inline(&reasons.join("; ")).into_owned();
    if is_over(workload) {
        Rollout::Failed(format!("has not become ready in time: {text}"))
    } else {
        Rollout::NotYet(text)
    }
}

/// The reasons of all objects of a kind with the labels.
async fn list_reasons(
    cluster: &Cluster,
    kind: &Kind,
    namespace: &str,
    of_one: fn(&Value) -> Vec<String>,
    reasons: &mut Vec<String>,
) {
    match cluster.list(&Resource::of(kind, true), namespace, SELECTOR).await {
        Ok(objects) => reasons.extend(objects.iter().flat_map(of_one)),
        Err(error) => reasons.push(format!("cannot list {}: {error}", kind.plural)),
    }
}

/// Why a StatefulSet cannot make pods: quotas, admission. It has no condition for that, only events, and
/// the last one counts.
async fn refusal(cluster: &Cluster, namespace: &str, set: &Value) -> Option<String> {
    if number(set, "/status/replicas").unwrap_or(0) >= number(set, "/spec/replicas").unwrap_or(1) {
        return None;
    }
    let fields = format!("involvedObject.uid={},type=Warning", at(set, "/metadata/uid"));
    let mut last: Option<(Option<String>, String)> = None;
    let keep = |event: Result<Value, _>| {
        let Ok(event) = event else { return };
        let times = ["/lastTimestamp", "/eventTime", "/firstTimestamp"];
        let time = times
            .into_iter()
            .map(|field| at(&event, field))
            .find(|time| !time.is_empty());
        let time = time.map(str::to_owned);
        if last.as_ref().is_none_or(|(other, _)| *other <= time) {
            last = Some((time, with_message(&event)));
        }
    };
    let listed = cluster
        .list_each(&Resource::of(&EVENT, true), (namespace, fields.as_str()), keep)
        .await;
    match listed {
        Ok(()) => last.map(|(_, what)| what),
        Err(error) => Some(format!("cannot list {}: {error}", EVENT.plural)),
    }
}

fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

fn is_unseen(workload: &Value) -> bool {
    number(workload, "/metadata/generation") > number(workload, "/status/observedGeneration")
}

/// What the rollout of a StatefulSet still waits for; None when it is complete.
fn awaited_of_set(set: &Value) -> Option<String> {
    let status = |field: &str| number(set, &format!("/status/{field}")).unwrap_or(0);
    if is_unseen(set) {
        return Some("the StatefulSet's controller has not seen it yet".to_owned());
    }
    let wanted = number(set, "/spec/replicas").unwrap_or(1);
    let is_updated = at(set, "/status/currentRevision") == at(set, "/status/updateRevision");
    let (updated, ready) = (status("updatedReplicas"), status("readyReplicas"));
    if !is_updated && updated < wanted {
        return Some(format!("{updated} of {wanted} members are updated"));
    }
    if ready < wanted {
        return Some(format!("{ready} of {wanted} members are ready"));
    }
    if !is_updated {
        return Some("the StatefulSet's controller has not ended the update".to_owned());
    }
    match status("replicas").saturating_sub(wanted) {
        0 => None,
        more => Some(format!(
            "{} to end",
            words::count(usize::try_from(more).ok()?, "member")
        )),
    }
}

/// What the rollout of a Deployment still waits for; None when it is complete.
fn awaited(deployment: &Value) -> Option<String> {
    let status = |field: &str| number(deployment, &format!("/status/{field}")).unwrap_or(0);
    if is_unseen(deployment) {
        return Some("the Deployment's controller has not seen it yet".to_owned());
    }
    let wanted = number(deployment, "/spec/replicas").unwrap_or(1);
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
        .any(|one| one.text_of("type") == "Progressing" && one.text_of("reason") == "ProgressDeadlineExceeded")
}

fn condition_reasons(deployment: &Value) -> Vec<String> {
    let failed = conditions(deployment).filter(|one| match one.text_of("type") {
        "ReplicaFailure" => one.text_of("status") == "True",
        "Progressing" => one.text_of("status") == "False",
        _ => false,
    });
    failed.map(with_message).collect()
}

/// A ReplicaSet that cannot make pods: quotas, admission, a ServiceAccount that is not there.
fn replica_set_reasons(replica_set: &Value) -> Vec<String> {
    let failed = conditions(replica_set)
        .filter(|one| one.text_of("type") == "ReplicaFailure" && one.text_of("status") == "True");
    failed.map(with_message).collect()
}

/// Why a pod is not ready; nothing for one that is, or that is ending.
fn pod_reasons(pod: &Value) -> Vec<String> {
    let is_ready = conditions(pod).any(|one| one.text_of("type") == "Ready" && one.text_of("status") == "True");
    if is_ready || pod.pointer("/metadata/deletionTimestamp").is_some() {
        return Vec::new();
    }
    let named = |reason: String| format!("pod {}: {reason}", at(pod, "/metadata/name"));
    let unscheduled =
        conditions(pod).find(|one| one.text_of("type") == "PodScheduled" && one.text_of("status") == "False");
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
        let reason = waiting.text_of("reason");
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
    let name = status.text_of("name");
    let running = status.pointer("/state/running");
    running.map(|_| format!("container {name} runs and is not ready yet"))
}

/// How a container ended: its exit code, and the end of what it said.
fn ended(terminated: &Value) -> String {
    const LINES: usize = 3;
    let message = terminated.text_of("message").trim();
    let mut lines: Vec<&str> = message.lines().rev().take(LINES).collect();
    lines.reverse();
    let code = terminated.value_at("/exitCode");
    let how = match terminated.text_of("reason") {
        "" | "Error" | "Completed" => format!("exit code {code}"),
        // OOMKilled, say.
        reason => format!("{reason}, exit code {code}"),
    };
    joined(&how, &lines.join(" / "))
}

fn with_message(one: &Value) -> String {
    joined(one.text_of("reason"), one.text_of("message"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stateful_set_is_ready_when_kubectl_says_so_and_no_former_member_is_left() {
        let set = |status: &str| {
            let mut numbers = status
                .split(' ')
                .map(|number| number.parse::<u64>().unwrap_or_default());
            let mut next = || numbers.next().unwrap_or_default();
            let (seen, replicas, updated, ready, current) = (next(), next(), next(), next(), next());
            json!({"metadata": {"generation": 2}, "spec": {"replicas": 3}, "status": {
                "observedGeneration": seen, "replicas": replicas, "updatedReplicas": updated, "readyReplicas": ready,
                "currentRevision": format!("r{current}"), "updateRevision": "r2",
            }})
        };
        for (status, expected) in [
            ("1 3 3 3 2", Some("the StatefulSet's controller has not seen it yet")),
            ("2 0 0 0 2", Some("0 of 3 members are ready")),
            // All pods of the version of before are ready.
            ("2 3 0 3 1", Some("0 of 3 members are updated")),
            ("2 3 1 2 1", Some("1 of 3 members are updated")),
            ("2 3 3 2 1", Some("2 of 3 members are ready")),
            (
                "2 3 3 3 1",
                Some("the StatefulSet's controller has not ended the update"),
            ),
            ("2 5 5 5 2", Some("2 members to end")),
            ("2 3 3 3 2", None),
            // A first revision: none is said to be updated.
            ("2 3 0 3 2", None),
        ] {
            assert_eq!(awaited_of_set(&set(status)).as_deref(), expected, "{status}");
        }
    }
}
