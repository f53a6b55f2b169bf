//! Objects as Flux' status readers see them: a Job by Flux' own rule, what owns pods together with its pods.

use super::condition::conditions;
use super::field::{HealthError, nested, nested_text};
use super::generic::compute;
use super::job;
use super::status::{Health, Status};
use bumpwright_api::group_kind;
use bumpwright_gostd::Time;
use serde_json::Value;

/// An object whose pods count for its status: [`assess`] has to be given them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PodOwner<'v> {
    /// The namespace that its pods are in.
    pub namespace: &'v str,
    /// `spec.selector`; nothing where the object has none, which Flux calls an error: `no selector found`.
    pub selector: Option<&'v Value>,
}

/// Whether the pods of an object have to be read: those of ReplicaSets and StatefulSets.
#[must_use]
pub fn pod_owner(object: &Value) -> Option<PodOwner<'_>> {
    let owner = matches!(group_kind(object), ("apps", "ReplicaSet" | "StatefulSet"));
    owner.then(|| PodOwner {
        namespace: nested_text(object, &["metadata", "namespace"])
            .ok()
            .flatten()
            .unwrap_or_default(),
        selector: nested(object, &["spec", "selector"]).ok().flatten(),
    })
}

/// The status of an object that Flux waits for. `pods` are those that a [`pod_owner`] selects, in the order of their
/// names, and are not looked at for other objects.
///
/// While an owner is on its way, pods that failed for good make it fail: those that are not being deleted and do not
/// wait for a node.
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

/// A cluster may get a node for it yet.
fn is_unschedulable(pod: &Value) -> bool {
    let given = conditions(pod).unwrap_or_default();
    given
        .iter()
        .any(|given| given.is("PodScheduled", "False") && given.reason == "Unschedulable")
}
