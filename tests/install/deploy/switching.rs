//! From one process to several and back at a real API server. The test ends the pods, as the controllers
//! and a kubelet would.

use serde_json::{Value as Json, json};

use super::waiting::Installing;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::deployments::{claim_of, report, report_set};
use bumpwright_testkit::waiting::until;

fn status(cluster: &Cluster, path: &str) -> u16 {
    cluster.request("GET", path, "", "").status
}

fn workload(namespace: &str, plural: &str) -> String {
    format!("/apis/apps/v1/namespaces/{namespace}/{plural}/bumpwright")
}

fn verbs_of_leases(cluster: &Cluster, namespace: &str) -> Json {
    let role = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/bumpwright-leases");
    cluster.get(&role)["rules"][0]["verbs"].clone()
}

/// A pod that a controller of this kind made; its path.
pub(super) fn made_by(cluster: &Cluster, namespace: &str, name: &str, owner: &str) -> String {
    let owner = json!({"apiVersion": "apps/v1", "kind": owner, "name": "bumpwright", "uid": "1", "controller": true});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "bumpwright"}, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "manager", "image": "x"}]},
    });
    cluster.create(&pod, "").unwrap();
    cluster.path_of(&pod)
}

pub(super) fn end_pod(cluster: &Cluster, path: &str) {
    let now = json!({"gracePeriodSeconds": 0}).to_string();
    cluster.request("DELETE", path, "application/json", &now);
    cluster.gone(path);
}

#[test]
fn one_process_ends_before_several_begin_and_the_other_way_round() {
    // Its own: what other tests have installed for all namespaces would be deleted.
    let Some(cluster) = &Cluster::start() else { return };
    const NAMESPACE: &str = "switching";
    let [one, several] = ["deployments", "statefulsets"].map(|plural| workload(NAMESPACE, plural));
    let installing = Installing::start(cluster, NAMESPACE, &["--components=all"]);
    report(cluster, &installing.workload(), 1);
    assert_eq!(installing.end().0, 0);
    let alone = verbs_of_leases(cluster, NAMESPACE);
    let former = made_by(cluster, NAMESPACE, "bumpwright-7d9-x", "ReplicaSet");
    // A member that is there already does not hold it up.
    let member = made_by(cluster, NAMESPACE, "bumpwright-0", "StatefulSet");

    let installing = Installing::start(cluster, NAMESPACE, &["--components=all", "--shards=3"]);
    installing.says("waiting: deployment.apps/bumpwright: bumpwright-7d9-x to end");
    assert_eq!(cluster.get(&one)["spec"]["replicas"], 0);
    assert_eq!(
        status(cluster, &several),
        404,
        "not while a process runs without --shards"
    );
    assert_eq!(verbs_of_leases(cluster, NAMESPACE), alone);
    end_pod(cluster, &former);
    report_set(cluster, &installing.workload(), 3);
    let (code, out) = installing.end();
    let ended = "deployment.apps \"bumpwright\" deleted: its processes have ended, statefulset.apps/bumpwright takes its place\n\
                 role.rbac.authorization.k8s.io/bumpwright-leases applied\n\
                 statefulset.apps/bumpwright applied\n\
                 statefulset.apps/bumpwright is ready: 3 of 3 members\ninstalled\n";
    assert!(code == 0 && out.ends_with(ended), "{out}");
    assert_eq!(status(cluster, &one), 404);
    assert_eq!(
        verbs_of_leases(cluster, NAMESPACE),
        json!(["get", "list", "create", "patch", "delete"])
    );

    fewer_members_leave_a_volume(cluster, NAMESPACE);

    // Back: the members need the right to delete their leases until they have ended.
    let installing = Installing::start(cluster, NAMESPACE, &["--components=all"]);
    installing.says("waiting: statefulset.apps/bumpwright: bumpwright-0 to end");
    assert_eq!(cluster.get(&several)["spec"]["replicas"], 0);
    assert_eq!(status(cluster, &one), 404);
    assert_eq!(verbs_of_leases(cluster, NAMESPACE)[4], "delete");
    end_pod(cluster, &member);
    report(cluster, &installing.workload(), 1);
    let (code, out) = installing.end();
    for line in [
        "statefulset.apps \"bumpwright\" deleted: its processes have ended, deployment.apps/bumpwright takes its place\n",
        "service \"bumpwright-shards\" deleted: it is not part of this installation\n",
        "persistentvolumeclaim/data-bumpwright-0, data-bumpwright-1, data-bumpwright-2 are left: no process has them now, and one of the same \
         name would take them again; to delete them: kubectl -n switching delete persistentvolumeclaim data-bumpwright-0 data-bumpwright-1 \
         data-bumpwright-2\n",
    ] {
        assert!(code == 0 && out.contains(line), "{line}\n{out}");
    }
    assert_eq!((status(cluster, &several), status(cluster, &one)), (404, 200));
    assert_eq!(verbs_of_leases(cluster, NAMESPACE), alone);
    let claims = cluster.get(&format!("/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"));
    assert_eq!(claims["items"].as_array().unwrap().len(), 3, "no volume is deleted");
}

fn fewer_members_leave_a_volume(cluster: &Cluster, namespace: &'static str) {
    for number in 0..3 {
        claim_of(cluster, namespace, &format!("data-bumpwright-{number}"));
    }
    let installing = Installing::start(cluster, namespace, &["--components=all", "--shards=2"]);
    until("it is scaled", || installing.workload()["spec"]["replicas"] == 2);
    report_set(cluster, &installing.workload(), 2);
    let (code, out) = installing.end();
    let left = "\npersistentvolumeclaim/data-bumpwright-2 is left: no process has it now";
    assert!(code == 0 && out.contains(left), "{out}");
}

#[test]
fn a_process_that_does_not_end_keeps_the_others_away() {
    let Some(cluster) = Cluster::shared() else { return };
    const NAMESPACE: &str = "switching-slowly";
    let flags = ["--wait=false", "--shards=2", "--timeout=1s"];
    assert_eq!(Installing::start(cluster, NAMESPACE, &flags[..1]).end().0, 0);
    let former = made_by(cluster, NAMESPACE, "bumpwright-7d9-x", "ReplicaSet");
    for _ in 0..2 {
        let installing = Installing::start(cluster, NAMESPACE, &flags);
        installing.says(
            "error: the pods of deployment.apps/bumpwright, whose place this installation takes, have not ended in 1s: bumpwright-7d9-x; once \
             they have, run the command again",
        );
        assert_eq!(installing.end().0, 2);
        assert_eq!(status(cluster, &workload(NAMESPACE, "statefulsets")), 404);
    }
    // What is left of one that was evicted runs no more.
    let mut evicted = cluster.get(&former);
    evicted["status"] = json!({"phase": "Failed", "reason": "Evicted"});
    cluster.put_status(&evicted).unwrap();
    assert_eq!(Installing::start(cluster, NAMESPACE, &flags).end().0, 0);
    assert_eq!(status(cluster, &workload(NAMESPACE, "statefulsets")), 200);
}

#[test]
fn what_somebody_else_made_is_neither_ended_nor_joined() {
    let Some(cluster) = Cluster::shared() else { return };
    const NAMESPACE: &str = "switching-theirs";
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    cluster.apply(&object.to_string());
    let namespace = format!("--namespace={NAMESPACE}");
    let theirs = &super::exported(&["--shards=2", &namespace])["StatefulSet switching-theirs/bumpwright"];
    cluster.apply(&theirs.to_string());
    let installing = Installing::start(cluster, NAMESPACE, &["--wait=false"]);
    installing.says(
        "error: statefulset.apps/bumpwright was not made by `bumpwright install` but by test: remove it with that tool; nothing is applied",
    );
    assert_eq!(installing.end(), (2, String::new()));
    assert_eq!(status(cluster, &workload(NAMESPACE, "deployments")), 404);
    assert_eq!(cluster.get(&workload(NAMESPACE, "statefulsets"))["spec"]["replicas"], 2);
}

/// What the server does not take is found out while the process of before still runs.
#[test]
fn what_the_server_refuses_ends_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    const NAMESPACE: &str = "switching-refused";
    assert_eq!(Installing::start(cluster, NAMESPACE, &["--wait=false"]).end().0, 0);
    let metadata = json!({"name": "no-sets"});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
        "spec": {
            "matchConstraints": {"resourceRules": [
                {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["statefulsets"]},
            ]},
            "validations": [{"expression": format!("object.metadata.namespace != '{NAMESPACE}'"), "message": "no sets here"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
        "spec": {"policyName": "no-sets", "validationActions": ["Deny"]},
    });
    cluster.apply(&policy.to_string());
    cluster.apply(&binding.to_string());
    let namespace = format!("--namespace={NAMESPACE}");
    let set = &super::exported(&["--shards=2", &namespace])["StatefulSet switching-refused/bumpwright"];
    let path = format!("{}?fieldManager=test&dryRun=All", cluster.path_of(set));
    until("the policy is in effect", || {
        let answer = cluster.request("PATCH", &path, "application/apply-patch+yaml", &set.to_string());
        answer.status == 422
    });
    let installing = Installing::start(cluster, NAMESPACE, &["--wait=false", "--shards=2"]);
    installing.says("error: cannot apply statefulset.apps/bumpwright: ");
    assert_eq!(installing.end().0, 2);
    let one = cluster.get(&workload(NAMESPACE, "deployments"));
    assert_eq!(one["spec"]["replicas"], 1);
    for object in [binding, policy] {
        cluster.request("DELETE", &cluster.path_of(&object), "", "");
    }
}
