//! Stands in for the controllers of Deployments and the kubelets: sets the statuses of the Deployments of a namespace as they would, healthy
//! unless an image is broken.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::apiserver::Cluster;

/// A thread that sets statuses, until it is dropped.
pub struct Nodes {
    broken: Arc<Mutex<BTreeSet<String>>>,
    ended: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Nodes {
    pub fn start(cluster: &'static Cluster, namespace: &str) -> Self {
        let broken: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let ended: Arc<AtomicBool> = Arc::default();
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        let (known, stop) = (Arc::clone(&broken), Arc::clone(&ended));
        let work = move || {
            while !stop.load(Ordering::Relaxed) {
                let answer = cluster.request("GET", &path, "", "");
                for deployment in answer.body["items"].as_array().into_iter().flatten() {
                    let image = deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
                    let is_broken = known.lock().unwrap().contains(image.unwrap_or_default());
                    set(cluster, &path, deployment, is_broken);
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        };
        Self {
            broken,
            ended,
            thread: Some(std::thread::spawn(work)),
        }
    }

    /// From now on, pods with this image do not become ready.
    pub fn break_image(&self, image: &str) {
        self.broken.lock().unwrap().insert(image.to_owned());
    }

    /// From now on, they do.
    pub fn mend_image(&self, image: &str) {
        self.broken.lock().unwrap().remove(image);
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sets the status of a Deployment, unless it has it.
fn set(cluster: &Cluster, path: &str, deployment: &Json, is_broken: bool) {
    let condition = |kind: &str, is: bool, reason: &str| {
        let status = if is { "True" } else { "False" };
        json!({"type": kind, "status": status, "reason": reason, "message": reason,
            "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let ready = i32::from(!is_broken);
    let progressing = match is_broken {
        true => condition("Progressing", false, "ProgressDeadlineExceeded"),
        false => condition("Progressing", true, "NewReplicaSetAvailable"),
    };
    let status = json!({
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": 1, "updatedReplicas": 1, "readyReplicas": ready, "availableReplicas": ready,
        "conditions": [condition("Available", !is_broken, "MinimumReplicas"), progressing],
    });
    let has = |field: &str| match (&deployment["status"][field], &status[field]) {
        // Zeros are left out.
        (Json::Null, wanted) => *wanted == json!(0),
        (there, wanted) => there == wanted,
    };
    let is_same = ["observedGeneration", "readyReplicas"].into_iter().all(has);
    if !is_same {
        let name = deployment["metadata"]["name"].as_str().unwrap_or_default();
        // It may be gone; the next round sees.
        let _ = cluster.merge_patch(&format!("{path}/{name}/status"), &json!({ "status": status }));
    }
}
