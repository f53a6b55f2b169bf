//! Stands in for the controllers of Deployments and the kubelets: sets the statuses of the Deployments of a namespace
//! as they would, healthy unless an image is broken. If asked for, each Deployment has a pod, with a status too.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bumpwright_gostd::{RFC_3339, Time};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use crate::apiserver::Cluster;

/// A thread that sets statuses, until it is dropped.
pub struct Nodes {
    place: Place,
    broken: Arc<Mutex<BTreeSet<String>>>,
    paused: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// A namespace of a cluster.
#[derive(Clone)]
struct Place {
    cluster: &'static Cluster,
    deployments: String,
    pods: String,
}

impl Nodes {
    pub fn start(cluster: &'static Cluster, namespace: &str) -> Self {
        Self::run(cluster, namespace, false)
    }

    /// With a pod for each Deployment.
    pub fn start_with_pods(cluster: &'static Cluster, namespace: &str) -> Self {
        Self::run(cluster, namespace, true)
    }

    fn run(cluster: &'static Cluster, namespace: &str, has_pods: bool) -> Self {
        let broken: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let (paused, ended): (Arc<AtomicBool>, Arc<AtomicBool>) = Default::default();
        let place = Place {
            cluster,
            deployments: format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
            pods: format!("/api/v1/namespaces/{namespace}/pods"),
        };
        let (known, stop, there) = (Arc::clone(&broken), Arc::clone(&ended), place.clone());
        let waits = Arc::clone(&paused);
        let work = move || {
            while !stop.load(Ordering::Relaxed) {
                if waits.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
                for deployment in there.list(&there.deployments) {
                    let image = deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
                    let is_broken = known.lock().contains(image.unwrap_or_default());
                    if !has_pods || there.keep_pod(&deployment, is_broken) {
                        set(cluster, &there.deployments, &deployment, is_broken);
                    }
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        };
        Self {
            place,
            broken,
            paused,
            ended,
            thread: Some(std::thread::spawn(work)),
        }
    }

    /// From now on, no status is set.
    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
    }

    /// From now on, statuses are set again.
    pub fn go_on(&self) {
        self.paused.store(false, Ordering::Relaxed);
    }

    /// From now on, pods with this image do not become ready.
    pub fn break_image(&self, image: &str) {
        self.broken.lock().insert(image.to_owned());
    }

    /// From now on, they do.
    pub fn mend_image(&self, image: &str) {
        self.broken.lock().remove(image);
    }

    /// Restarts the container of the pod of a Deployment; returns when, in seconds since 1970-01-01 UTC.
    pub fn restart(&self, deployment: &str) -> i64 {
        let all = self.place.list(&self.place.pods);
        let owned = |pod: &&Json| pod["metadata"]["annotations"]["deployment"] == deployment;
        let pod = all.iter().find(owned).expect("a pod");
        let now = now();
        let mut status = pod["status"].clone();
        status["containerStatuses"][0]["state"] = json!({"running": {"startedAt": now.written(RFC_3339)}});
        status["containerStatuses"][0]["restartCount"] = json!(1);
        self.place.set_pod(pod, &status);
        now.unix_seconds()
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

impl Place {
    fn list(&self, path: &str) -> Vec<Json> {
        let mut answer = self.cluster.request("GET", path, "", "");
        serde_json::from_value(answer.body["items"].take()).unwrap_or_default()
    }

    /// Keeps one pod of the current template, ready unless its image is broken. Returns whether it is
    /// there, with its status.
    fn keep_pod(&self, deployment: &Json, is_broken: bool) -> bool {
        let owner = &deployment["metadata"]["name"];
        let name = format!("{}-{}", owner.as_str().unwrap(), deployment["metadata"]["generation"]);
        let template = &deployment["spec"]["template"];
        let all = self.list(&self.pods);
        let mut own = None;
        for pod in all
            .iter()
            .filter(|pod| pod["metadata"]["annotations"]["deployment"] == *owner)
        {
            let image = |spec: &Json| spec["spec"]["containers"][0]["image"].clone();
            if image(pod) == image(template) {
                own = Some(pod);
            } else {
                let path = format!("{}/{}", self.pods, pod["metadata"]["name"].as_str().unwrap());
                self.cluster.request("DELETE", &path, "", "");
            }
        }
        let Some(pod) = own else {
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "labels": template["metadata"]["labels"], "annotations": {"deployment": owner}},
                "spec": {"containers": template["spec"]["containers"]},
            });
            // The next round sets its status.
            self.cluster.request("POST", &self.pods, "", &pod.to_string());
            return false;
        };
        let is = if is_broken { "False" } else { "True" };
        if pod["status"]["conditions"][0]["status"] == is {
            return true;
        }
        let at = now().written(RFC_3339);
        let state = if is_broken {
            json!({"waiting": {"reason": "CrashLoopBackOff"}})
        } else {
            json!({"running": {"startedAt": at}})
        };
        let container = &pod["spec"]["containers"][0];
        let status = json!({
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": is, "lastTransitionTime": at}],
            "containerStatuses": [{"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
                "ready": !is_broken, "state": state}],
        });
        self.set_pod(pod, &status);
        true
    }

    /// It may be gone; the next round sees.
    fn set_pod(&self, pod: &Json, status: &Json) {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}/{name}/status", self.pods);
        let _ = self.cluster.merge_patch(&path, &json!({ "status": status }));
    }
}

fn now() -> Time {
    Time::unix(Time::from(SystemTime::now()).unix_seconds(), 0)
}

/// Sets the status of a Deployment, unless it has it.
fn set(cluster: &Cluster, path: &str, deployment: &Json, is_broken: bool) {
    let at = now().written(RFC_3339);
    let condition = |kind: &str, is: bool, reason: &str| {
        let status = if is { "True" } else { "False" };
        json!({"type": kind, "status": status, "reason": reason, "message": reason,
            "lastUpdateTime": at, "lastTransitionTime": at})
    };
    let ready = i32::from(!is_broken);
    let progressing = if is_broken {
        condition("Progressing", false, "ProgressDeadlineExceeded")
    } else {
        condition("Progressing", true, "NewReplicaSetAvailable")
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
