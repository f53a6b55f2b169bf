//! kstatus' `Compute`: the rules for all objects, then those of the kind, then `Ready`.

use super::condition::conditions;
use super::field::{HealthError, nested_int, nested_text, text};
use super::kind::rule_of;
use super::status::{Health, Status};
use bumpwright_gostd::Time;
use serde_json::Value;

/// Computes the status of an object of the API server. `now` decides how long a pod has been waiting for a node.
///
/// # Errors
/// For fields of the wrong type and unknown phases of pods, with Go's messages. For Flux such an object is `Unknown`.
pub fn compute(object: &Value, now: &Time) -> Result<Health, HealthError> {
    if let Some(health) = of_any_kind(object)? {
        return Ok(health);
    }
    if let Some(rule) = rule_of(object) {
        return rule(object, now);
    }
    let ready = of_ready(object)?;
    Ok(ready.unwrap_or_else(|| Health::current("Resource is current")))
}

/// The status by deletion, generations and kstatus' own conditions, which take precedence over everything else.
fn of_any_kind(object: &Value) -> Result<Option<Health>, HealthError> {
    let deleted = nested_text(object, &["metadata", "deletionTimestamp"]).map_err(|source| HealthError::LookUp {
        path: "metadata.deletionTimestamp",
        source,
    })?;
    if deleted.is_some_and(|at| !at.is_empty()) {
        return Ok(Some(Health::new(
            Status::Terminating,
            "Resource scheduled for deletion",
        )));
    }
    if let Some(health) = of_generations(object)? {
        return Ok(Some(health));
    }
    Ok(conditions(object)?.iter().find_map(|given| {
        if given.is("Reconciling", "True") {
            return Some(Health::in_progress(given.reason, given.message));
        }
        given
            .is("Stalled", "True")
            .then(|| Health::failed(given.reason, given.message))
    }))
}

fn of_generations(object: &Value) -> Result<Option<Health>, HealthError> {
    let Some(generation) = generation(object)? else {
        return Ok(None);
    };
    let Some(observed) = observed_generation(object)? else {
        return Ok(None);
    };
    if observed == generation {
        return Ok(None);
    }
    let kind = text(object, &["kind"], "");
    let message = format!("{kind} generation is {generation}, but latest observed generation is {observed}");
    Ok(Some(Health::in_progress("LatestGenerationNotObserved", message)))
}

pub(crate) fn generation(object: &Value) -> Result<Option<i64>, HealthError> {
    nested_int(object, &["metadata", "generation"]).map_err(|source| HealthError::LookUp {
        path: "metadata.generation",
        source,
    })
}

pub(crate) fn observed_generation(object: &Value) -> Result<Option<i64>, HealthError> {
    nested_int(object, &["status", "observedGeneration"]).map_err(|source| HealthError::LookUp {
        path: "status.observedGeneration",
        source,
    })
}

/// The status by `Ready`, for kinds without rules of their own.
fn of_ready(object: &Value) -> Result<Option<Health>, HealthError> {
    let conditions = conditions(object)?;
    let ready = conditions.iter().filter(|given| given.kind == "Ready");
    Ok(ready
        .filter_map(|given| match given.status {
            "True" => Some(Health::current("Resource is Ready")),
            "False" | "Unknown" => Some(Health::in_progress(given.reason, given.message)),
            _ => None,
        })
        .next())
}
