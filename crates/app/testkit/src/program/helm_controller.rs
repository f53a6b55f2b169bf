//! Stands in for Flux's helm-controller in a namespace: plays the statuses of its documents (*Helm Releases* of 1.6.4)
//! for releases of one chart, which has a Deployment with the image of `values.image`. What it installs is healthy
//! when the Deployment is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bumpwright_gostd::{RFC_3339, Time};
use serde_json::{Value as Json, json};

use crate::server::apiserver::Cluster;

/// A thread that reconciles HelmReleases, until it is dropped.
pub struct HelmController {
    ended: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Place {
    cluster: &'static Cluster,
    namespace: String,
}

impl HelmController {
    pub fn start(cluster: &'static Cluster, namespace: &str) -> Self {
        let ended: Arc<AtomicBool> = Arc::default();
        let stop = Arc::clone(&ended);
        let place = Place {
            cluster,
            namespace: namespace.to_owned(),
        };
        let work = move || {
            while !stop.load(Ordering::Relaxed) {
                place.releases().iter().for_each(|release| place.reconcile(release));
                std::thread::sleep(Duration::from_millis(100));
            }
        };
        Self {
            ended,
            thread: Some(std::thread::spawn(work)),
        }
    }
}

impl Drop for HelmController {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn name(release: &Json) -> &str {
    release["metadata"]["name"].as_str().unwrap()
}

/// In place of the digest of the values: from it they can be had back.
fn digest(values: &Json) -> String {
    format!("sha256:{values}")
}

impl Place {
    fn releases(&self) -> Vec<Json> {
        let path = format!(
            "/apis/helm.toolkit.fluxcd.io/v2/namespaces/{}/helmreleases",
            self.namespace
        );
        let mut answer = self.cluster.request("GET", &path, "", "");
        serde_json::from_value(answer.body["items"].take()).unwrap_or_default()
    }

    /// One step of a reconciliation.
    fn reconcile(&self, release: &Json) {
        let (status, values) = (&release["status"], &release["spec"]["values"]);
        let (generation, wanted) = (&release["metadata"]["generation"], digest(values));
        let history = status["history"].as_array().cloned().unwrap_or_default();
        let is_tried = status["lastAttemptedConfigDigest"] == json!(wanted);
        let is_deployed = |one: &Json| one["status"] == "deployed";
        if history
            .first()
            .is_some_and(|one| is_deployed(one) && one["configDigest"] == json!(wanted))
        {
            if status["observedGeneration"] != *generation || status["upgradeFailures"] != json!(0) {
                self.succeeded(release, history);
            }
        } else if !is_tried {
            self.attempt(release, 0);
        } else if condition(status, "Stalled") != "True" && condition(status, "Ready") == "False" {
            // The next attempt after one that failed.
            self.attempt(release, status["upgradeFailures"].as_i64().unwrap_or_default());
        } else if condition(status, "Ready") == "Unknown" {
            match self.outcome(release) {
                Some(true) => {
                    let revision = history.len() + 1;
                    let superseded = history.into_iter().map(|mut one| {
                        one["status"] = json!("superseded");
                        one
                    });
                    let all = [snapshot(release, revision, "deployed", values)]
                        .into_iter()
                        .chain(superseded);
                    self.succeeded(release, all.collect());
                }
                Some(false) => self.failed(release, history),
                None => {}
            }
        }
    }

    /// Begins an installation or an upgrade.
    fn attempt(&self, release: &Json, failures: i64) {
        let values = &release["spec"]["values"];
        let action = if release["status"]["history"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
        {
            "upgrade"
        } else {
            "install"
        };
        self.install(name(release), values);
        let message = format!("Running '{action}' action with timeout of 5m0s");
        self.set(
            release,
            json!({"lastAttemptedConfigDigest": digest(values), "lastAttemptedRevision": "1.0.0",
                "lastAttemptedReleaseAction": action, "upgradeFailures": failures}),
            &[
                ("Ready", "Unknown", "Progressing", &message),
                ("Reconciling", "True", "Progressing", &message),
            ],
        );
    }

    fn succeeded(&self, release: &Json, history: Vec<Json>) {
        let values = &release["spec"]["values"];
        let title = title(release);
        let (reason, message) = match history.len() {
            1 => (
                "InstallSucceeded",
                format!("Helm install succeeded for release {title}"),
            ),
            _ => (
                "UpgradeSucceeded",
                format!("Helm upgrade succeeded for release {title}"),
            ),
        };
        let entry = json!({"id": format!("{}_{}_apps_Deployment", self.namespace, name(release)), "v": "v1"});
        self.set(
            release,
            json!({"history": history, "upgradeFailures": 0, "observedGeneration": release["metadata"]["generation"],
                "lastAttemptedConfigDigest": digest(values), "inventory": {"entries": [entry]}}),
            &[
                ("Ready", "True", reason, &message),
                ("Released", "True", reason, &message),
            ],
        );
    }

    /// The upgrade has failed. With retries it is rolled back, and tried again while there are some.
    fn failed(&self, release: &Json, mut history: Vec<Json>) {
        let failures = release["status"]["upgradeFailures"].as_i64().unwrap_or_default() + 1;
        let retries = release["spec"]["upgrade"]["remediation"]["retries"]
            .as_i64()
            .unwrap_or_default();
        let good = history.iter().find(|one| one["status"] == "deployed").cloned();
        let values = &release["spec"]["values"];
        history.insert(0, snapshot(release, history.len() + 1, "failed", values));
        let failed = format!(
            "Helm upgrade failed for release {}: resource Deployment/{}/{} not ready. status: Failed",
            title(release),
            self.namespace,
            name(release)
        );
        let mut conditions = vec![("Released", "False", "UpgradeFailed", failed.as_str())];
        let back = format!("Helm rollback to previous release {} succeeded", title(release));
        match good.filter(|_| retries > 0) {
            Some(good) => {
                let values = good["configDigest"]
                    .as_str()
                    .and_then(|digest| digest.strip_prefix("sha256:"));
                let values: Json = serde_json::from_str(values.unwrap()).unwrap();
                self.install(name(release), &values);
                history.insert(0, snapshot(release, history.len() + 1, "deployed", &values));
                conditions.push(("Ready", "False", "RollbackSucceeded", &back));
                conditions.push(("Remediated", "True", "RollbackSucceeded", &back));
            }
            None => conditions.push(("Ready", "False", "UpgradeFailed", &failed)),
        }
        let stalled = format!("Failed to upgrade after {failures} attempt(s)");
        let mut fields = json!({"history": history, "upgradeFailures": failures});
        if failures > retries {
            conditions.push(("Stalled", "True", "RetriesExceeded", &stalled));
            fields["observedGeneration"] = release["metadata"]["generation"].clone();
        } else {
            conditions.push(("Reconciling", "True", "ProgressingWithRetry", &failed))
        }
        self.set(release, fields, &conditions);
    }

    /// Applies the chart's Deployment.
    fn install(&self, name: &str, values: &Json) {
        let part = |field: &str| values["image"][field].as_str().unwrap_or_default();
        let image = format!("{}:{}", part("repository"), part("tag"));
        self.cluster.apply_object(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {
                "helm.toolkit.fluxcd.io/name": name, "helm.toolkit.fluxcd.io/namespace": self.namespace}},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
                "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": name, "image": image}]}}},
        }));
    }

    /// Whether the Deployment became healthy; none while it is on its way.
    fn outcome(&self, release: &Json) -> Option<bool> {
        let path = format!(
            "/apis/apps/v1/namespaces/{}/deployments/{}",
            self.namespace,
            name(release)
        );
        let deployment = self.cluster.request("GET", &path, "", "").body;
        let status = &deployment["status"];
        if status["observedGeneration"] != deployment["metadata"]["generation"] {
            return None;
        }
        Some(condition(status, "Progressing") == "True")
    }

    /// Sets fields of the status, and these conditions alone.
    fn set(&self, release: &Json, mut fields: Json, conditions: &[(&str, &str, &str, &str)]) {
        let at = now();
        let conditions: Vec<Json> = conditions
            .iter()
            .map(|(kind, status, reason, message)| {
                json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at,
                    "observedGeneration": release["metadata"]["generation"]})
            })
            .collect();
        fields["conditions"] = json!(conditions);
        let path = format!(
            "/apis/helm.toolkit.fluxcd.io/v2/namespaces/{}/helmreleases/{}/status",
            self.namespace,
            name(release)
        );
        // It may be gone; the next round sees.
        let _ = self.cluster.merge_patch(&path, &json!({ "status": fields }));
    }
}

fn now() -> String {
    Time::unix(Time::from(SystemTime::now()).unix_seconds(), 0).written(RFC_3339)
}

/// An entry of the history.
fn snapshot(release: &Json, revision: usize, status: &str, values: &Json) -> Json {
    json!({"name": name(release), "namespace": release["metadata"]["namespace"], "version": revision, "status": status,
        "chartName": "web", "chartVersion": "1.0.0", "appVersion": "1.0.0", "configDigest": digest(values),
        "digest": "sha256:0", "firstDeployed": now(), "lastDeployed": now()})
}

fn title(release: &Json) -> String {
    format!(
        "{}/{} with chart web@1.0.0",
        release["metadata"]["namespace"].as_str().unwrap_or_default(),
        name(release)
    )
}

fn condition<'j>(status: &'j Json, kind: &str) -> &'j str {
    let all = status["conditions"].as_array().into_iter().flatten();
    let mut found = all.filter(|one| one["type"] == kind);
    found.next().and_then(|one| one["status"].as_str()).unwrap_or_default()
}
