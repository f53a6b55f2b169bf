//! The rules of Kubernetes' own kinds, except workloads with replicas and Jobs.

use super::condition::conditions;
use super::field::{HealthError, nested_list, text};
use super::status::Health;
use super::{job, replicas};
use bumpwright_api::group_kind;
use bumpwright_gostd::{Duration, RFC_3339, Time};
use serde_json::Value;
use std::cmp::Ordering;

/// The rule of a kind.
pub(crate) type Rule = fn(&Value, &Time) -> Result<Health, HealthError>;

/// How long a pod may wait for a node before it is considered unschedulable: 15 seconds, in nanoseconds.
const SCHEDULE_WINDOW: i64 = 15_000_000_000;

/// The rule for an object's kind.
pub(crate) fn rule_of(object: &Value) -> Option<Rule> {
    Some(match group_kind(object) {
        ("", "Service") => service,
        ("", "Pod") => pod,
        ("", "PersistentVolumeClaim") => claim,
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") => always_ready,
        ("apps", "StatefulSet") => replicas::stateful_set,
        ("apps" | "extensions", "DaemonSet") => replicas::daemon_set,
        ("apps" | "extensions", "Deployment") => replicas::deployment,
        ("apps" | "extensions", "ReplicaSet") => replicas::replica_set,
        ("policy", "PodDisruptionBudget") => disruption_budget,
        ("batch", "Job") => job::running_is_current,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition,
        _ => return None,
    })
}

fn always_ready(_: &Value, _: &Time) -> Result<Health, HealthError> {
    Ok(Health::current("Resource is always ready"))
}

/// A budget is current once it was observed; the generations were compared before.
fn disruption_budget(_: &Value, _: &Time) -> Result<Health, HealthError> {
    Ok(Health::current("AllowedDisruptions has been computed."))
}

fn claim(object: &Value, _: &Time) -> Result<Health, HealthError> {
    Ok(match text(object, &["status", "phase"], "unknown") {
        "Bound" => Health::current("PVC is Bound"),
        phase => Health::in_progress("NotBound", format!("PVC is not Bound. phase: {phase}")),
    })
}

fn service(object: &Value, _: &Time) -> Result<Health, HealthError> {
    let balanced = text(object, &["spec", "type"], "") == "LoadBalancer";
    let address = text(object, &["spec", "clusterIP"], "");
    if balanced && address.is_empty() {
        let message = "ClusterIP not set. Service type: LoadBalancer";
        return Ok(Health::in_progress("NoIPAssigned", message));
    }
    Ok(Health::current("Service is ready"))
}

fn definition(object: &Value, _: &Time) -> Result<Health, HealthError> {
    for given in conditions(object)? {
        let refused =
            given.is("NamesAccepted", "False") || (given.is("Established", "False") && given.reason != "Installing");
        if refused {
            return Ok(Health::failed(given.reason, given.message));
        }
        if given.is("Established", "True") {
            return Ok(Health::current("CRD is established"));
        }
    }
    Ok(Health::in_progress("Installing", "Install in progress"))
}

fn pod(object: &Value, now: &Time) -> Result<Health, HealthError> {
    let conditions = conditions(object)?;
    Ok(match text(object, &["status", "phase"], "") {
        "Succeeded" => Health::current("Pod has completed successfully"),
        "Failed" => Health::current("Pod has completed, but not successfully"),
        "Running" if conditions.iter().any(|given| given.is("Ready", "True")) => Health::current("Pod is Ready"),
        "Running" => running_pod(object)?,
        "Pending" => {
            let placed = conditions.iter().find(|given| given.is("PodScheduled", "False"));
            match placed.is_some_and(|given| given.reason == "Unschedulable") {
                true if is_new(object, now) => Health::in_progress("PodNotScheduled", "Pod has not been scheduled"),
                true => Health::failed("PodUnschedulable", "Pod could not be scheduled"),
                false => Health::in_progress("PodPending", "Pod is in the Pending phase"),
            }
        }
        "" => Health::in_progress("PodNotObserved", "Pod phase not available"),
        other => return Err(HealthError::Phase(other.to_owned())),
    })
}

fn running_pod(object: &Value) -> Result<Health, HealthError> {
    let looping = crash_looping(object)?;
    if looping.is_empty() {
        return Ok(Health::in_progress(
            "PodRunningNotReady",
            "Pod is running but is not Ready",
        ));
    }
    let message = format!("Containers in CrashLoop state: {}", looping.join(","));
    Ok(Health::failed("ContainerCrashLooping", message))
}

/// Whether the object is younger than the window of the scheduler.
fn is_new(object: &Value, now: &Time) -> bool {
    let created = text(object, &["metadata", "creationTimestamp"], "");
    let Ok(created) = Time::parse(RFC_3339, created.as_bytes()) else {
        return false;
    };
    now.add(Duration(-SCHEDULE_WINDOW)).order(&created) == Ordering::Less
}

/// The containers that wait for a restart after a crash.
fn crash_looping(object: &Value) -> Result<Vec<&str>, HealthError> {
    let statuses = nested_list(object, &["status", "containerStatuses"])?;
    let mut names = Vec::new();
    for status in statuses.into_iter().flatten() {
        names.extend(crash_looping_name(status)?);
    }
    Ok(names)
}

fn crash_looping_name(status: &Value) -> Result<Option<&str>, HealthError> {
    let members = status.as_object().ok_or(HealthError::Container("fields"))?;
    let Some(name) = members.get("name") else {
        return Ok(None);
    };
    let name = name.as_str().ok_or(HealthError::Container("name"))?;
    let Some(state) = members.get("state") else {
        return Ok(None);
    };
    let state = state.as_object().ok_or(HealthError::Container("state"))?;
    let Some(waiting) = state.get("waiting") else {
        return Ok(None);
    };
    let waiting = waiting.as_object().ok_or(HealthError::Container("state.waiting"))?;
    let Some(reason) = waiting.get("reason") else {
        return Ok(None);
    };
    let reason = reason.as_str().ok_or(HealthError::Container("state.waiting.reason"))?;
    Ok((reason == "CrashLoopBackOff").then_some(name))
}
