//! What `install` waits for, and what it says meanwhile. The test writes what the controllers of Deployments and
//! StatefulSets, the scheduler and a kubelet would.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::deployments;
use bumpwright_testkit::waiting::{TIMEOUT, until};

/// An installation that is under way.
pub(super) struct Installing<'a> {
    cluster: &'a Cluster,
    namespace: &'static str,
    /// `deployments` or `statefulsets`.
    plural: &'static str,
    child: Child,
    says: Receiver<String>,
    _bench: Bench,
}

impl<'a> Installing<'a> {
    pub(super) fn start(cluster: &'a Cluster, namespace: &'static str, flags: &[&str]) -> Self {
        let bench = Bench::new();
        let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
        let namespace_flag = format!("--namespace={namespace}");
        let mut command = bench.command(&[&["install", &kubeconfig, &namespace_flag], flags].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (tell, says) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || lines.for_each(|line| drop(tell.send(line.unwrap()))));
        Self {
            cluster,
            namespace,
            plural: if flags.iter().any(|flag| flag.starts_with("--shards")) {
                "statefulsets"
            } else {
                "deployments"
            },
            child,
            says,
            _bench: bench,
        }
    }

    /// Waits for a line that contains these words.
    pub(super) fn says(&self, words: &str) {
        let mut all = Vec::new();
        while let Ok(line) = self.says.recv_timeout(TIMEOUT) {
            if line.contains(words) {
                return;
            }
            all.push(line);
        }
        panic!("{words:?} is not in {all:#?}");
    }

    /// Its exit code and standard output.
    pub(super) fn end(mut self) -> (i32, String) {
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        (self.child.wait().unwrap().code().unwrap(), out)
    }

    pub(super) fn workload(&self) -> Json {
        let path = format!("/apis/apps/v1/namespaces/{}/{}/bumpwright", self.namespace, self.plural);
        let found = || {
            let answer = self.cluster.request("GET", &path, "", "");
            (answer.status == 200).then_some(answer.body)
        };
        until("the workload is there", found)
    }

    fn report(&self, status: Json) {
        let mut workload = self.workload();
        workload["status"] = status;
        workload["status"]["observedGeneration"] = workload["metadata"]["generation"].clone();
        workload["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        self.cluster.put_status(&workload).unwrap();
    }

    /// Sets the status of the pod, or of the ReplicaSet, that the controllers would have made.
    fn object(&self, api_version: &str, kind: &str, spec: Json, status: Json) {
        let labels = json!({"app": "bumpwright"});
        let object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": "bumpwright-7d9", "namespace": self.namespace, "labels": labels}, "spec": spec,
        });
        let path = self.cluster.path_of(&object);
        if self.cluster.request("GET", &path, "", "").status == 404 {
            self.cluster.create(&object, "").unwrap();
        }
        let mut found = self.cluster.get(&path);
        found["status"] = status;
        self.cluster.put_status(&found).unwrap();
    }

    fn pod(&self, status: Json) {
        let spec = json!({"containers": [{"name": "manager", "image": "x"}]});
        self.object("v1", "Pod", spec, status);
    }

    fn replica_set(&self, status: Json) {
        let template = self.workload()["spec"]["template"].clone();
        let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "bumpwright"}}, "template": template});
        self.object("apps/v1", "ReplicaSet", spec, status);
    }
}

fn container(state: Json, last: Json) -> Json {
    json!({"phase": "Pending", "containerStatuses": [{
        "name": "manager", "image": "x", "imageID": "", "ready": false, "restartCount": 3, "state": state, "lastState": last,
    }]})
}

#[test]
fn it_says_what_is_in_the_way_until_all_is_ready() {
    let Some(cluster) = Cluster::shared() else { return };
    let installing = Installing::start(cluster, "waiting", &[]);
    installing.says("waiting: deployment.apps/bumpwright: the Deployment's controller has not seen it yet");

    let quota = "pods \"bumpwright-7d9-x\" is forbidden: exceeded quota: small, requested: pods=1";
    let failure = json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": quota});
    installing.report(json!({"replicas": 0}));
    installing.replica_set(json!({"replicas": 0, "conditions": [failure]}));
    installing.says(&format!("0 of 1 replicas are updated; FailedCreate: {quota}"));

    installing.replica_set(json!({"replicas": 1}));
    installing.report(json!({"replicas": 1, "updatedReplicas": 1}));
    installing.says("deployment.apps/bumpwright: 0 of 1 replicas are available");
    let message = "0/3 nodes are available: 3 Insufficient memory.";
    installing.pod(json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message},
    ]}));
    installing.says(&format!("pod bumpwright-7d9: Unschedulable: {message}"));
    let pull = json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"ghcr.io/x\""}});
    installing.pod(container(pull, json!({})));
    installing.says("pod bumpwright-7d9: ImagePullBackOff: Back-off pulling image \"ghcr.io/x\"");
    let wait =
        json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}});
    let last = json!({"exitCode": 2, "reason": "Error", "message": "error: --log-level: no level\n"});
    installing.pod(container(wait, json!({"terminated": last})));
    installing.says("pod bumpwright-7d9: CrashLoopBackOff: exit code 2: error: --log-level: no level");
    installing.pod(container(json!({"running": {}}), json!({})));
    installing.says("pod bumpwright-7d9: container manager runs and is not ready yet");

    deployments::report(cluster, &installing.workload(), 1);
    let (code, out) = installing.end();
    assert!(
        out.ends_with("deployment.apps/bumpwright is ready\ninstalled\n"),
        "{out}"
    );
    assert_eq!(code, 0);
}

#[test]
fn an_installation_that_does_not_become_ready_is_an_error_with_the_reason() {
    let Some(cluster) = Cluster::shared() else { return };
    let installing = Installing::start(cluster, "waiting-long", &[]);
    installing.report(json!({"replicas": 1, "updatedReplicas": 1, "conditions": [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"},
    ]}));
    installing.says("error: all is applied, but deployment.apps/bumpwright has not become ready in time: 0 of 1 replicas are available");
    assert_eq!(installing.end().0, 2);

    let installing = Installing::start(cluster, "waiting-short", &["--timeout=1s"]);
    installing.says(
        "error: all is applied, but deployment.apps/bumpwright is not ready after 1s: the Deployment's controller",
    );
    let (code, out) = installing.end();
    assert_eq!(code, 2);
    assert!(out.ends_with("deployment.apps/bumpwright applied\n"), "{out}");
}

/// A warning of the StatefulSet's controller, which has no condition for it.
fn warn(installing: &Installing<'_>, message: &str) {
    let set = installing.workload();
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "bumpwright.", "namespace": installing.namespace},
        "involvedObject": {
            "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "bumpwright", "namespace": installing.namespace,
            "uid": set["metadata"]["uid"],
        },
        "type": "Warning", "reason": "FailedCreate", "message": message, "lastTimestamp": "2026-01-01T00:00:00Z",
    });
    installing.cluster.create(&event, "").unwrap();
}

#[test]
fn it_waits_for_all_members() {
    let Some(cluster) = Cluster::shared() else { return };
    let installing = Installing::start(cluster, "waiting-members", &["--shards=3"]);
    installing.says("waiting: statefulset.apps/bumpwright: the StatefulSet's controller has not seen it yet");

    let quota = "create Pod bumpwright-2 in StatefulSet bumpwright failed error: pods \"bumpwright-2\" is forbidden: exceeded quota: small";
    warn(&installing, quota);
    let status = |replicas: u64, ready: u64, updated: u64, current: &str| json!({"replicas": replicas, "readyReplicas": ready, "updatedReplicas": updated, "currentRevision": current, "updateRevision": "b"});
    installing.report(status(2, 0, 2, "b"));
    installing.says(&format!(
        "statefulset.apps/bumpwright: 0 of 3 members are ready; FailedCreate: {quota}"
    ));
    installing.report(status(3, 2, 3, "b"));
    let claims = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    installing.pod(json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": claims},
    ]}));
    installing.says(&format!(
        "2 of 3 members are ready; pod bumpwright-7d9: Unschedulable: {claims}"
    ));
    installing.report(status(3, 3, 1, "a"));
    installing.says("statefulset.apps/bumpwright: 1 of 3 members are updated");
    installing.report(status(4, 4, 3, "b"));
    installing.says("statefulset.apps/bumpwright: 1 member to end");

    deployments::report_set(cluster, &installing.workload(), 3);
    let (code, out) = installing.end();
    let end = "statefulset.apps/bumpwright applied\nstatefulset.apps/bumpwright is ready: 3 of 3 members\ninstalled\n";
    assert!(out.ends_with(end), "{out}");
    assert_eq!(code, 0);

    let installing = Installing::start(cluster, "waiting-members", &["--shards=4", "--timeout=1s"]);
    installing.says(
        "error: all is applied, but statefulset.apps/bumpwright is not ready after 1s: the StatefulSet's controller",
    );
    assert_eq!(installing.end().0, 2);
}
