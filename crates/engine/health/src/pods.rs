//! The rules of Flux's status readers: its own rule for Jobs, and owners of pods together with their pods.

use super::condition::conditions;
use super::field::{HealthError, nested, text};
use super::generic::compute;
use super::job;
use super::status::{Health, Status};
use bumpwright_api::group_kind;
use bumpwright_gostd::Time;
use serde_json::Value;

/// An object whose pods affect its status, and have to be passed to [`assess`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PodOwner<'v> {
    /// The namespace of its pods.
    pub namespace: &'v str,
    /// `spec.selector`; without one Flux's error is `no selector found`.
    pub selector: Option<&'v Value>,
}

/// Whether the pods of an object have to be read: those of ReplicaSets and StatefulSets.
#[must_use]
pub fn pod_owner(object: &Value) -> Option<PodOwner<'_>> {
    let owner = matches!(group_kind(object), ("apps", "ReplicaSet" | "StatefulSet"));
    owner.then(|| PodOwner {
        namespace: text(object, &["metadata", "namespace"], ""),
        selector: nested(object, &["spec", "selector"]).ok().flatten(),
    })
}

/// The status of an object that Flux waits for. `pods` are those that a [`pod_owner`] selects, in the order of their
/// names; they are ignored for other objects.
///
/// While an owner is in progress, failed pods make it fail, except those that are being deleted or wait for a node.
///
/// # Errors
/// As [`compute`].
pub fn assess(object: &Value, pods: &[Value], now: &Time) -> Result<Health, HealthError> {
    if group_kind(object) == ("batch", "Job") {
        return job::must_complete(object);
    }
    let health = compute(object, now)?;
    if health.status != Status::InProgress || pod_owner(object).is_none() {
        return Ok(health);
    }
    match pods.iter().filter(|pod| has_failed(pod, now)).count() {
        0 => Ok(health),
        failed => Ok(Health::new(Status::Failed, format!("{failed} pods have failed"))),
    }
}

fn has_failed(pod: &Value, now: &Time) -> bool {
    let failed = compute(pod, now).is_ok_and(|health| health.status == Status::Failed);
    failed && !is_unschedulable(pod)
}

/// Whether a pod is waiting for a node, which may still be added.
fn is_unschedulable(pod: &Value) -> bool {
    conditions(pod).is_ok_and(|given| {
        given
            .iter()
            .any(|given| given.is("PodScheduled", "False") && given.reason == "Unschedulable")
    })
}
