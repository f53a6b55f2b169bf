//! Jobs: kstatus considers a running one current, Flux waits until it ends.

use super::condition::conditions;
use super::field::{HealthError, int, is_true, text};
use super::status::Health;
use bumpwright_gostd::Time;
use serde_json::Value;

struct Counts {
    parallelism: i64,
    completions: i64,
    succeeded: i64,
    active: i64,
    failed: i64,
    started: bool,
}

fn counts(object: &Value) -> Counts {
    let status = |field| int(object, &["status", field], 0);
    let parallelism = int(object, &["spec", "parallelism"], 1);
    Counts {
        parallelism,
        completions: int(object, &["spec", "completions"], parallelism),
        succeeded: status("succeeded"),
        active: status("active"),
        failed: status("failed"),
        started: !text(object, &["status", "startTime"], "").is_empty(),
    }
}

/// The status by the conditions of a Job that has ended.
fn ended(object: &Value, counts: &Counts) -> Result<Option<Health>, HealthError> {
    let Counts {
        completions,
        succeeded,
        failed,
        ..
    } = counts;
    let conditions = conditions(object)?;
    let mut given = conditions.iter().filter(|given| given.status == "True");
    Ok(given.find_map(|given| match given.kind {
        "Complete" => {
            let message = format!("Job Completed. succeeded: {succeeded}/{completions}");
            Some(Health::current(message))
        }
        "Failed" => {
            let message = format!("Job Failed. failed: {failed}/{completions}");
            Some(Health::failed("JobFailed", message))
        }
        _ => None,
    }))
}

fn running(counts: &Counts) -> String {
    let Counts {
        succeeded,
        active,
        failed,
        ..
    } = counts;
    format!("Job in progress. success:{succeeded}, active: {active}, failed: {failed}")
}

/// kstatus' rule: a Job is current once it has started, unless it has failed.
pub(crate) fn running_is_current(object: &Value, _: &Time) -> Result<Health, HealthError> {
    let counts = counts(object);
    if let Some(health) = ended(object, &counts)? {
        return Ok(health);
    }
    Ok(if counts.started {
        Health::current(running(&counts))
    } else {
        Health::in_progress("JobNotStarted", "Job not started")
    })
}

/// Flux's rule (`CustomJobStatusReader`): a Job is ready when it is complete or suspended, regardless of deletion and
/// generations.
pub(crate) fn must_complete(object: &Value) -> Result<Health, HealthError> {
    if is_true(object, &["spec", "suspend"]) {
        return Ok(Health::current("Job is suspended"));
    }
    let counts = counts(object);
    if let Some(health) = ended(object, &counts)? {
        return Ok(health);
    }
    Ok(if counts.started {
        Health::in_progress("JobInProgress", running(&counts))
    } else {
        let message = format!("Job not started. active: 0/{}", counts.parallelism);
        Health::in_progress("JobNotStarted", message)
    })
}
