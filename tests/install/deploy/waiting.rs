//! What `install` waits for, and what it says meanwhile. The test writes what the Deployment's controller, the scheduler and a
//! kubelet would.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::deployments;
use bumpwright_testkit::waiting::{TIMEOUT, until};

/// An installation that is under way.
struct Installing<'a> {
    cluster: &'a Cluster,
    namespace: &'static str,
    child: Child,
    says: Receiver<String>,
    _bench: Bench,
}

impl<'a> Installing<'a> {
    fn start(cluster: &'a Cluster, namespace: &'static str, flags: &[&str]) -> Self {
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
            child,
            says,
            _bench: bench,
        }
    }

    /// Waits for a line that contains these words.
    fn says(&self, words: &str) {
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
    fn end(mut self) -> (i32, String) {
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        (self.child.wait().unwrap().code().unwrap(), out)
    }

    fn deployment(&self) -> Json {
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/bumpwright", self.namespace);
        let found = || {
            let answer = self.cluster.request("GET", &path, "", "");
            (answer.status == 200).then_some(answer.body)
        };
        until("the Deployment is there", found)
    }

    fn report(&self, status: Json) {
        let mut deployment = self.deployment();
        deployment["status"] = status;
        deployment["status"]["observedGeneration"] = deployment["metadata"]["generation"].clone();
        deployment["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("resourceVersion");
        self.cluster.put_status(&deployment).unwrap();
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
        let template = self.deployment()["spec"]["template"]["spec"].clone();
        self.object("v1", "Pod", template, status);
    }

    fn replica_set(&self, status: Json) {
        let template = self.deployment()["spec"]["template"].clone();
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

    deployments::report(cluster, &installing.deployment(), 1);
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
