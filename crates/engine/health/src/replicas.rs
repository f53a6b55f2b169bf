//! The rules of workloads with replicas: Deployments, ReplicaSets, StatefulSets, DaemonSets.

use super::condition::conditions;
use super::field::{HealthError, int, text};
use super::generic::{generation, observed_generation};
use super::status::Health;
use bumpwright_gostd::Time;
use serde_json::Value;

/// The deadline that means none for the Deployment controller.
const NO_DEADLINE: i64 = i32::MAX as i64;

fn spec(object: &Value, field: &str, default: i64) -> i64 {
    int(object, &["spec", field], default)
}

fn status(object: &Value, field: &str) -> i64 {
    int(object, &["status", field], 0)
}

/// `Label: 1/3`, in progress, while there are fewer than desired.
fn fewer(reason: &str, label: &str, there: i64, wanted: i64) -> Option<Health> {
    (wanted > there).then(|| Health::in_progress(reason, format!("{label}: {there}/{wanted}")))
}

/// In progress while there are more than desired.
fn extra(there: i64, wanted: i64) -> Option<Health> {
    let message = || format!("Pending termination: {}", there.wrapping_sub(wanted));
    (there > wanted).then(|| Health::in_progress("ExtraPods", message()))
}

/// The conditions of a Deployment.
struct Rollout {
    progressing: bool,
    available: bool,
    /// The status when the deadline is exceeded.
    exceeded: Option<Health>,
}

fn rollout(object: &Value) -> Result<Rollout, HealthError> {
    let mut rollout = Rollout {
        // Without a deadline the controller sets no condition about progress.
        progressing: spec(object, "progressDeadlineSeconds", NO_DEADLINE) == NO_DEADLINE,
        available: false,
        exceeded: None,
    };
    for given in conditions(object)? {
        if given.kind == "Progressing" && given.reason == "ProgressDeadlineExceeded" {
            let mut health = Health::failed(given.reason, given.message);
            health.message = "Progress deadline exceeded".to_owned();
            rollout.exceeded = Some(health);
            return Ok(rollout);
        }
        rollout.progressing |= given.is("Progressing", "True") && given.reason == "NewReplicaSetAvailable";
        rollout.available |= given.is("Available", "True");
    }
    Ok(rollout)
}

pub(crate) fn deployment(object: &Value, _: &Time) -> Result<Health, HealthError> {
    let rollout = rollout(object)?;
    if let Some(health) = rollout.exceeded {
        return Ok(health);
    }
    let wanted = spec(object, "replicas", 1);
    let replicas = status(object, "replicas");
    let updated = status(object, "updatedReplicas");
    let missing = fewer("LessReplicas", "Replicas", replicas, wanted)
        .or_else(|| fewer("LessUpdated", "Updated", updated, wanted))
        .or_else(|| extra(replicas, wanted))
        .or_else(|| {
            fewer(
                "LessAvailable",
                "Available",
                status(object, "availableReplicas"),
                updated,
            )
        })
        .or_else(|| fewer("LessReady", "Ready", status(object, "readyReplicas"), wanted));
    Ok(match missing {
        Some(health) => health,
        None if !rollout.progressing => Health::in_progress("ReplicaSetNotAvailable", "ReplicaSet not Available"),
        None if !rollout.available => Health::in_progress("DeploymentNotAvailable", "Deployment not Available"),
        None => Health::current(format!("Deployment is available. Replicas: {replicas}")),
    })
}

pub(crate) fn replica_set(object: &Value, _: &Time) -> Result<Health, HealthError> {
    if conditions(object)?
        .iter()
        .any(|given| given.is("ReplicaFailure", "True"))
    {
        let message = "Replica Failure condition. Check Pods";
        return Ok(Health::in_progress("ReplicaFailure", message));
    }
    let wanted = spec(object, "replicas", 1);
    let replicas = status(object, "replicas");
    let missing = fewer(
        "LessLabelled",
        "Labelled",
        status(object, "fullyLabeledReplicas"),
        wanted,
    )
    .or_else(|| {
        fewer(
            "LessAvailable",
            "Available",
            status(object, "availableReplicas"),
            wanted,
        )
    })
    .or_else(|| fewer("LessReady", "Ready", status(object, "readyReplicas"), wanted))
    .or_else(|| extra(replicas, wanted));
    Ok(missing.unwrap_or_else(|| Health::current(format!("ReplicaSet is available. Replicas: {replicas}"))))
}

/// A StatefulSet has no conditions, so that it never fails.
pub(crate) fn stateful_set(object: &Value, _: &Time) -> Result<Health, HealthError> {
    if text(object, &["spec", "updateStrategy", "type"], "") == "OnDelete" {
        return Ok(Health::current("StatefulSet is using the ondelete update strategy"));
    }
    let wanted = spec(object, "replicas", 1);
    let there = status(object, "replicas");
    let missing = fewer("LessReplicas", "Replicas", there, wanted)
        .or_else(|| fewer("LessReady", "Ready", status(object, "readyReplicas"), wanted))
        .or_else(|| extra(there, wanted));
    if let Some(health) = missing {
        return Ok(health);
    }
    let partition = int(object, &["spec", "updateStrategy", "rollingUpdate", "partition"], -1);
    if partition != -1 {
        let updated = status(object, "updatedReplicas");
        let partial = fewer("PartitionRollout", "updated", updated, wanted.wrapping_sub(partition));
        let whole = || Health::current(format!("Partition rollout complete. updated: {updated}"));
        return Ok(partial.unwrap_or_else(whole));
    }
    let current = fewer("LessCurrent", "current", status(object, "currentReplicas"), wanted);
    let revision = |field| text(object, &["status", field], "");
    Ok(match current {
        Some(health) => health,
        None if revision("currentRevision") != revision("updateRevision") => {
            Health::in_progress("RevisionMismatch", "Waiting for updated revision to match current")
        }
        None => Health::current(format!("All replicas scheduled as expected. Replicas: {there}")),
    })
}

pub(crate) fn daemon_set(object: &Value, _: &Time) -> Result<Health, HealthError> {
    let unset = |reason, field| {
        let kind = text(object, &["kind"], "");
        Health::in_progress(reason, format!("{kind} {field} not found"))
    };
    // Its controller always sets both, so that an object without one was not observed.
    if generation(object)?.is_none() {
        return Ok(unset("NoGeneration", "metadata.generation"));
    }
    if observed_generation(object)?.is_none() {
        return Ok(unset("NoObservedGeneration", "status.observedGeneration"));
    }
    let wanted = int(object, &["status", "desiredNumberScheduled"], -1);
    if wanted == -1 {
        let message = "Missing .status.desiredNumberScheduled";
        return Ok(Health::in_progress("NoDesiredNumber", message));
    }
    let missing = fewer(
        "LessCurrent",
        "Current",
        status(object, "currentNumberScheduled"),
        wanted,
    )
    .or_else(|| {
        fewer(
            "LessUpdated",
            "Updated",
            status(object, "updatedNumberScheduled"),
            wanted,
        )
    })
    .or_else(|| fewer("LessAvailable", "Available", status(object, "numberAvailable"), wanted))
    .or_else(|| fewer("LessReady", "Ready", status(object, "numberReady"), wanted));
    Ok(missing.unwrap_or_else(|| Health::current(format!("All replicas scheduled as expected. Replicas: {wanted}"))))
}
