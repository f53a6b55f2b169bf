//! HelmReleases in a rollout: what the statuses of helm-controller say of the values and the chart that a commit has
//! brought (its document *Helm Releases*).

use bumpwright_api::{Condition, ConditionStatus, Conditions, READY, STALLED};
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_json::Texts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long after its Kustomization a release may still show its status of before, in seconds. After that its spec did
/// not change: the cluster had the values already.
const STALE: i64 = 60;

/// Reasons of a Ready condition after an action of Helm that did not go well.
const FAILURES: [&str; 7] = [
    "InstallFailed",
    "UpgradeFailed",
    "TestFailed",
    "RollbackSucceeded",
    "RollbackFailed",
    "UninstallSucceeded",
    "UninstallFailed",
];

/// The state of a HelmRelease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseState {
    /// The status of its Ready condition, if it is of the current spec; none when it is unknown.
    pub ready: Option<bool>,
    pub reason: String,
    pub message: String,
    /// Since when it is not ready, in seconds since 1970-01-01 UTC.
    pub unready_since: Option<i64>,
    pub generation: i64,
    /// The digest of the values of the last attempt.
    pub values: String,
    /// The version of the chart of the last attempt.
    pub chart: String,
    /// Whether the newest entry of its history is deployed, with the values and the chart of the last attempt.
    pub is_deployed: bool,
    /// Whether an entry of its history is deployed: so it is during an upgrade, and after a rollback.
    pub has_deployed: bool,
    /// Whether helm-controller gives up, or retries without end: no attempt is left that is worth waiting for.
    pub is_final: bool,
}

/// A HelmRelease that a commit changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FollowedRelease {
    /// Whether its own spec changes; else what its values or its chart come from.
    pub spec: bool,
    /// Its generation when the commit was about to be pushed.
    pub generation: i64,
    /// The digest of the values that were tried last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// The version of the chart that was tried last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chart: String,
    /// Whether it was ready.
    pub was_ready: bool,
    /// When it was first seen to be ready with the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<i64>,
}

/// How far a release is with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It has not tried the change, or tries it.
    Waits,
    /// It has the change, and is well.
    Healthy,
    /// Its last attempt failed, or was rolled back.
    Fails,
}

impl ReleaseState {
    /// Reads the spec and the status of a HelmRelease.
    #[must_use]
    pub fn of(spec: &Value, status: &Value, generation: i64) -> Self {
        let conditions = Conditions::of(status, generation, "");
        let is_current = |condition: &&Condition| match condition.observed_generation {
            Some(observed) => observed == generation,
            None => status.get("observedGeneration").and_then(Value::as_i64) == Some(generation),
        };
        let ready = conditions.get(READY).filter(is_current);
        let is = |status: ConditionStatus| ready.is_some_and(|ready| ready.status == status.word());
        let tried = (
            status.text_of("lastAttemptedConfigDigest"),
            status.text_of("lastAttemptedRevision"),
        );
        let history = status.get("history").and_then(Value::as_array);
        let latest = status.pointer("/history/0").unwrap_or(&Value::Null);
        let has = |field: &str, tried: &str| latest.text_of(field) == tried;
        let is_stalled = conditions.get(STALLED).filter(is_current);
        let is_stalled = is_stalled.is_some_and(|stalled| stalled.status == ConditionStatus::True.word());
        let texts = |ready: &Condition| (ready.reason.clone(), ready.message.clone());
        let (reason, message) = ready.map(texts).unwrap_or_default();
        Self {
            ready: match () {
                () if is(ConditionStatus::True) => Some(true),
                () if is(ConditionStatus::False) => Some(false),
                () => None,
            },
            reason,
            message,
            unready_since: ready
                .filter(|_| is(ConditionStatus::False))
                .and_then(|ready| seconds(ready.last_transition_time.as_deref()?)),
            generation,
            is_deployed: has("status", "deployed") && has("configDigest", tried.0) && has("chartVersion", tried.1),
            has_deployed: history
                .into_iter()
                .flatten()
                .any(|one| one.text_of("status") == "deployed"),
            is_final: is_stalled || !has_retries(spec, status),
            values: tried.0.to_owned(),
            chart: tried.1.to_owned(),
        }
    }

    /// What a commit that is about to change it, or what it is made of, finds.
    #[must_use]
    pub fn followed(&self, spec: bool) -> FollowedRelease {
        FollowedRelease {
            spec,
            generation: self.generation,
            values: self.values.clone(),
            chart: self.chart.clone(),
            was_ready: self.ready.unwrap_or(self.has_deployed),
            healthy: None,
        }
    }

    /// Whether its last attempt did not go well, and no other is worth to be waited for. One that was rolled back has
    /// failed, whatever else is tried.
    fn fails(&self) -> bool {
        let is_back = self.reason.starts_with("Rollback") || self.reason.starts_with("Uninstall");
        self.ready == Some(false) && FAILURES.contains(&self.reason.as_str()) && (self.is_final || is_back)
    }
}

impl FollowedRelease {
    /// How far it is, `since` its Kustomization has applied the change.
    pub(crate) fn progress(&self, state: &ReleaseState, since: i64, now: i64) -> Progress {
        let is_tried = if self.spec {
            state.generation > self.generation || now.saturating_sub(since) >= STALE
        } else {
            (&self.values, &self.chart) != (&state.values, &state.chart)
        };
        match state.ready {
            _ if !is_tried => Progress::Waits,
            Some(true) if state.is_deployed => Progress::Healthy,
            _ if state.fails() => Progress::Fails,
            _ => Progress::Waits,
        }
    }

    /// When it is checked again, though nothing changes.
    pub(crate) fn again(&self, state: &ReleaseState, since: i64) -> Option<i64> {
        let is_stale = self.spec && state.generation <= self.generation;
        is_stale.then(|| since.saturating_add(STALE))
    }
}

/// Whether an attempt of a bounded number is left. There is always another one without a bound, by the strategy
/// `RetryOnFailure`, and after a failure that Helm has not stored, such as one of a template, which helm-controller
/// does not count: each of these counts here.
fn has_retries(spec: &Value, status: &Value) -> bool {
    let action = match status.text_of("lastAttemptedReleaseAction") {
        "install" => "install",
        _ => "upgrade",
    };
    let number = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or_default();
    let strategy = spec
        .pointer(&format!("/{action}/strategy/name"))
        .and_then(Value::as_str);
    let retries = number(spec.pointer(&format!("/{action}/remediation/retries")));
    let failures = number(status.get(format!("{action}Failures")));
    strategy != Some("RetryOnFailure") && (1..=retries).contains(&failures)
}

fn seconds(time: &str) -> Option<i64> {
    Some(Time::parse(RFC_3339, time.as_bytes()).ok()?.unix_seconds())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(ready: (&str, &str), values: &str, history: &[(&str, &str)]) -> Value {
        let history: Vec<Value> = (history.iter())
            .map(|(status, values)| json!({"status": status, "configDigest": values, "chartVersion": "1.0.0"}))
            .collect();
        json!({
            "conditions": [{"type": "Ready", "status": ready.0, "reason": ready.1, "message": "", "observedGeneration": 2}],
            "lastAttemptedConfigDigest": values, "lastAttemptedRevision": "1.0.0",
            "lastAttemptedReleaseAction": "upgrade", "history": history,
        })
    }

    fn progress(spec: &Value, status: &Value) -> Progress {
        let before = FollowedRelease {
            spec: true,
            generation: 1,
            ..FollowedRelease::default()
        };
        before.progress(&ReleaseState::of(spec, status, 2), 0, 1)
    }

    #[test]
    fn a_release_is_healthy_with_the_values_that_were_tried_last() {
        let spec = json!({});
        let upgraded = status(
            ("True", "UpgradeSucceeded"),
            "b",
            &[("deployed", "b"), ("superseded", "a")],
        );
        assert_eq!(progress(&spec, &upgraded), Progress::Healthy);
        let mut older = upgraded.clone();
        older["conditions"][0]["observedGeneration"] = json!(1);
        assert_eq!(progress(&spec, &older), Progress::Waits);
        let other = status(("True", "UpgradeSucceeded"), "b", &[("deployed", "a")]);
        assert_eq!(progress(&spec, &other), Progress::Waits);
    }

    /// Documents of helm-controller: *Configuring failure handling*.
    #[test]
    fn a_failure_counts_once_no_retry_is_left_or_it_was_taken_back() {
        let failed = |failures: i64| {
            let mut failed = status(("False", "UpgradeFailed"), "b", &[("failed", "b"), ("deployed", "a")]);
            failed["upgradeFailures"] = json!(failures);
            failed
        };
        let retries = |count: i64| json!({"upgrade": {"remediation": {"retries": count}}});
        let endless = json!({"upgrade": {"strategy": {"name": "RetryOnFailure"}}});
        for (spec, failures, expected) in [
            (json!({}), 1, Progress::Fails),
            (retries(3), 1, Progress::Waits),
            (retries(3), 3, Progress::Waits),
            (retries(3), 4, Progress::Fails),
            (retries(-1), 9, Progress::Fails),
            (endless, 1, Progress::Fails),
            // A template that fails is not counted.
            (retries(3), 0, Progress::Fails),
        ] {
            assert_eq!(progress(&spec, &failed(failures)), expected, "{spec} {failures}");
        }
        let back = status(
            ("False", "RollbackSucceeded"),
            "b",
            &[("deployed", "a"), ("failed", "b")],
        );
        assert_eq!(progress(&retries(3), &back), Progress::Fails);
        let away = status(("False", "SourceNotReady"), "a", &[("deployed", "a")]);
        assert_eq!(progress(&json!({}), &away), Progress::Waits);
        let mut stalled = failed(1);
        let stall = json!({"type": "Stalled", "status": "True", "reason": "RetriesExceeded", "observedGeneration": 2});
        stalled["conditions"].as_array_mut().unwrap().push(stall);
        assert_eq!(progress(&retries(3), &stalled), Progress::Fails);
    }

    #[test]
    fn what_a_release_is_made_of_is_seen_by_values_and_chart() {
        let before = ReleaseState::of(
            &json!({}),
            &status(("True", "InstallSucceeded"), "a", &[("deployed", "a")]),
            2,
        );
        let followed = before.followed(false);
        assert!(followed.was_ready);
        assert_eq!(followed.progress(&before, 0, 9999), Progress::Waits);
        let upgraded = status(("True", "UpgradeSucceeded"), "b", &[("deployed", "b")]);
        let upgraded = ReleaseState::of(&json!({}), &upgraded, 2);
        assert_eq!(followed.progress(&upgraded, 0, 1), Progress::Healthy);
        // Its spec is as it was: the cluster had the values already.
        let same = before.followed(true);
        assert_eq!(same.progress(&before, 0, STALE - 1), Progress::Waits);
        assert_eq!(same.progress(&before, 0, STALE), Progress::Healthy);
    }
}
