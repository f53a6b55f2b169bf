//! Tests of proofs: statuses as the API server has them, changed in one place each.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use serde_json::{Value, json};

use super::proven::{Inventory, MOST_PODS, Proof, Unproven, Workload, runs};
use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_gostd::{Duration, RFC_3339, Time};

const REPOSITORY: &str = "ghcr.io/o/web";
const NOW: &str = "2026-02-01T12:00:00Z";

fn time(text: &str) -> Time {
    Time::parse(RFC_3339, text.as_bytes()).unwrap()
}

fn kustomization() -> Value {
    json!({
        "observedGeneration": 3,
        "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "Applied"}],
        "lastAppliedRevision": "main@sha1:a", "lastAttemptedRevision": "main@sha1:a",
        "inventory": {"entries": [
            {"id": "shop_web_apps_Deployment", "v": "v1"},
            {"id": "shop_web__Service", "v": "v1"},
            {"id": "_admin__role_rbac.authorization.k8s.io_ClusterRole", "v": "v1"},
        ]},
    })
}

fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": "web", "generation": 2},
        "spec": {"replicas": 1, "progressDeadlineSeconds": 600, "template": {"spec": {"containers": [{"name": "web", "image": image}]}}},
        "status": {
            "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
            "conditions": [
                {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
                    "lastUpdateTime": "2026-02-01T09:00:00Z", "lastTransitionTime": "2026-02-01T09:00:00Z"},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable",
                    "lastUpdateTime": "2026-02-01T09:30:00Z", "lastTransitionTime": "2026-02-01T08:00:00Z"},
            ],
        },
    })
}

fn pod(image: &str) -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": "web-1"},
        "spec": {"containers": [{"name": "web", "image": image}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-02-01T09:20:00Z"}],
            "containerStatuses": [{"name": "web", "state": {"running": {"startedAt": "2026-02-01T09:10:00Z"}}}],
        },
    })
}

fn stateful_set(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"namespace": "shop", "name": "queue", "generation": 1},
        "spec": {"replicas": 1, "template": {"spec": {"initContainers": [{"name": "init", "image": image}]}}},
        "status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "currentReplicas": 1,
            "currentRevision": "r", "updateRevision": "r"},
    })
}

fn id(object: &Value) -> ObjectId {
    ObjectId::of(object)
}

fn prove_all(seen: &[(Value, Vec<Value>)], now: &str) -> Result<Proof, Unproven> {
    let ids: Vec<ObjectId> = seen.iter().map(|(object, _)| id(object)).collect();
    let workloads: Vec<Workload<'_>> = seen
        .iter()
        .zip(&ids)
        .map(|((object, pods), id)| Workload { id, object, pods })
        .collect();
    Inventory::of(&kustomization(), 3)
        .unwrap()
        .prove(REPOSITORY, &workloads, &time(now))
}

fn prove(object: Value, pods: Vec<Value>) -> Result<Proof, Unproven> {
    prove_all(&[(object, pods)], NOW)
}

fn since(proof: &Result<Proof, Unproven>) -> String {
    match proof {
        Ok(proof) => format!("{} {}", proof.version, proof.since.written(RFC_3339)),
        Err(why) => why.to_string(),
    }
}

/// What is said of a Deployment and a pod of 1.2.0 when a field of one of them is another one.
fn with(is_pod: bool, pointer: &str, value: Value) -> String {
    let (mut object, mut one) = (deployment("ghcr.io/o/web:1.2.0"), pod("ghcr.io/o/web:1.2.0"));
    let changed = if is_pod { &mut one } else { &mut object };
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    match changed.pointer_mut(parent).unwrap() {
        Value::Array(list) => list[field.parse::<usize>().unwrap()] = value,
        parent => parent[field] = value,
    }
    since(&prove(object, vec![one]))
}

#[test]
fn a_kustomization_that_is_ready_has_workloads() {
    let web = ObjectId {
        name: ObjectName::new("shop", "web"),
        group: "apps".to_owned(),
        kind: "Deployment".to_owned(),
    };
    let inventory = Inventory::of(&kustomization(), 3).unwrap();
    assert_eq!((inventory.workloads, inventory.helm_releases), (vec![web], vec![]));
}

#[test]
fn a_kustomization_between_two_states_proves_nothing() {
    for (field, value, expected) in [
        ("conditions", json!([]), "it is not ready: it has not been reconciled"),
        (
            "conditions",
            json!([{"type": "Ready", "status": "False", "message": "timeout\nof all"}]),
            "it is not ready: timeout",
        ),
        (
            "conditions",
            json!([{"type": "Ready", "status": "Unknown", "message": "Reconciliation in progress"}]),
            "it is not ready: Reconciliation in progress",
        ),
        (
            "observedGeneration",
            json!(2),
            "it is not ready: its spec has not been reconciled",
        ),
        (
            "lastAttemptedRevision",
            json!("main@sha1:b"),
            "it has tried revision main@sha1:b, but applied main@sha1:a",
        ),
        (
            "lastAppliedRevision",
            json!(null),
            "it has tried revision main@sha1:a, but applied ",
        ),
    ] {
        let mut status = kustomization();
        status[field] = value;
        assert_eq!(Inventory::of(&status, 3).unwrap_err().to_string(), expected);
    }
    let mut status = kustomization();
    let many = (0..101).map(|n| json!({"id": format!("shop_w{n}_apps_Deployment")}));
    status["inventory"]["entries"] = many.collect();
    let said = Inventory::of(&status, 3).unwrap_err().to_string();
    assert!(said.starts_with("it has 101 workloads, of which 100 at most"), "{said}");
}

/// The cluster may be a tenant's own, with words that no API server takes.
#[test]
fn words_of_any_length_are_told_in_few() {
    let long = "x".repeat(100_000);
    let mut status = kustomization();
    status["lastAttemptedRevision"] = json!(long);
    let revision = Inventory::of(&status, 3).unwrap_err().to_string();
    let container = with(true, "/spec/containers/0/name", json!(long));
    for said in [revision, container] {
        assert!(said.contains("xxx") && said.len() < 1000, "{} bytes", said.len());
    }
    // They differ behind what is reported.
    status["lastAppliedRevision"] = json!(format!("{long}x"));
    assert!(Inventory::of(&status, 3).is_err());
    let mut status = kustomization();
    status["inventory"]["entries"] = json!([{"id": format!("shop_{long}_apps_Deployment")}]);
    assert_eq!(Inventory::of(&status, 3).unwrap().workloads, []);
}

#[test]
fn health_begins_with_the_latest_of_all_times() {
    let at = |is_pod, pointer: &str, time: &str| with(is_pod, pointer, json!(time));
    let conditions = "/status/conditions";
    assert_eq!(
        since(&prove(
            deployment("ghcr.io/o/web:1.2.0"),
            vec![pod("ghcr.io/o/web:1.2.0")]
        )),
        "1.2.0 2026-02-01T09:30:00Z"
    );
    for (is_pod, pointer) in [
        (false, format!("{conditions}/0/lastTransitionTime")),
        (false, format!("{conditions}/1/lastUpdateTime")),
        (true, format!("{conditions}/0/lastTransitionTime")),
        (true, "/status/containerStatuses/0/state/running/startedAt".to_owned()),
    ] {
        assert_eq!(
            at(is_pod, &pointer, "2026-02-01T10:00:00Z"),
            "1.2.0 2026-02-01T10:00:00Z",
            "{pointer}"
        );
        // A clock that is ahead.
        assert_eq!(
            at(is_pod, &pointer, "2026-02-01T13:00:00Z"),
            format!("1.2.0 {NOW}"),
            "{pointer}"
        );
    }
    // What moves without a break of health.
    for pointer in ["0/lastUpdateTime", "1/lastTransitionTime"] {
        let pointer = format!("{conditions}/{pointer}");
        assert_eq!(
            at(false, &pointer, "2026-02-01T10:00:00Z"),
            "1.2.0 2026-02-01T09:30:00Z"
        );
    }
    // A rollout under way is not done.
    let said = with(false, "/status/conditions/1/reason", json!("ReplicaSetUpdated"));
    assert_eq!(said, "Deployment/shop/web is InProgress: ReplicaSet not Available");
}

#[test]
fn an_initial_container_that_goes_on_counts() {
    let sidecar = json!([{"name": "s", "state": {"running": {"startedAt": "2026-02-01T11:00:00Z"}}},
        {"name": "done", "state": {"terminated": {"exitCode": 0}}}]);
    assert_eq!(
        with(true, "/status/initContainerStatuses", sidecar),
        "1.2.0 2026-02-01T11:00:00Z"
    );
}

#[test]
fn the_pod_that_is_not_ready_is_named() {
    let pod_says = |what: &str| format!("Pod/shop/web-1 of Deployment/shop/web {what}");
    let ready = |message: &str| json!([{"type": "Ready", "status": "False", "message": message}]);
    assert_eq!(
        with(
            true,
            "/status/conditions",
            ready("containers with unready status: [web]")
        ),
        pod_says("is not ready: containers with unready status: [web]")
    );
    assert_eq!(with(true, "/status/conditions", json!([])), pod_says("is not ready"));
    assert_eq!(
        with(true, "/status/conditions", json!([{"type": "Ready", "status": "True"}])),
        pod_says("does not tell since when it is ready")
    );
    for state in [json!([]), json!([{"name": "web", "state": {"terminated": {}}}])] {
        assert_eq!(
            with(true, "/status/containerStatuses", state),
            pod_says("does not tell since when container web runs")
        );
    }
    let old = json!([{"name": "web", "image": "ghcr.io/o/web:1.1.0"}]);
    assert_eq!(with(true, "/spec/containers", old), pod_says("still runs 1.1.0"));
    let other = json!([{"name": "web", "image": "ghcr.io/o/api:1.2.0"}]);
    assert_eq!(
        with(true, "/spec/containers", other),
        pod_says("does not run ghcr.io/o/web")
    );
    // The workload and the pod that is the reason.
    let (mut object, mut one) = (deployment("ghcr.io/o/web:1.2.0"), pod("ghcr.io/o/web:1.2.0"));
    object["status"]["availableReplicas"] = json!(0);
    one["status"]["conditions"] = ready("");
    one["status"]["containerStatuses"][0]["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    assert_eq!(
        since(&prove(object, vec![one])),
        format!(
            "Deployment/shop/web is InProgress: Available: 0/1; {}",
            pod_says("is not ready: container web waits: CrashLoopBackOff")
        )
    );
}

#[test]
fn pods_that_end_do_not_count_but_some_must_run() {
    let image = "ghcr.io/o/web:1.2.0";
    let mut leaving = pod("ghcr.io/o/web:1.1.0");
    leaving["metadata"]["deletionTimestamp"] = json!(NOW);
    let mut evicted = pod(image);
    evicted["status"] = json!({"phase": "Failed", "reason": "Evicted"});
    let all = vec![leaving.clone(), pod(image), evicted.clone()];
    assert_eq!(since(&prove(deployment(image), all)), "1.2.0 2026-02-01T09:30:00Z");
    assert_eq!(
        since(&prove(deployment(image), vec![leaving, evicted])),
        "Deployment/shop/web: it has no running pods"
    );
    let said = since(&prove(deployment(image), vec![pod(image); MOST_PODS + 1]));
    assert!(said.contains("more than 500 pods"), "{said}");
}

#[test]
fn all_workloads_run_one_version() {
    let image = "ghcr.io/o/web:1.2.0";
    let mut one = pod(image);
    one["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-02-01T11:30:00Z");
    let web = (deployment(image), vec![pod(image)]);
    let queue = |image: &str| (stateful_set(image), vec![one.clone()]);
    let proof = prove_all(&[web.clone(), queue(image)], NOW);
    assert_eq!(since(&proof), "1.2.0 2026-02-01T11:30:00Z");
    assert_eq!(
        since(&prove_all(&[web, queue("ghcr.io/o/web:1.1.0")], NOW)),
        "Deployment/shop/web runs 1.2.0, but StatefulSet/shop/queue runs 1.1.0"
    );
    let mut two = deployment(image);
    two["spec"]["template"]["spec"]["initContainers"] = json!([{"name": "i", "image": "ghcr.io/o/web:1.1.0"}]);
    assert_eq!(
        since(&prove(two, vec![pod(image)])),
        "Deployment/shop/web runs 1.2.0, but Deployment/shop/web runs 1.1.0"
    );
    assert_eq!(
        since(&prove_all(&[], NOW)),
        "none of its Deployments, StatefulSets and DaemonSets runs ghcr.io/o/web"
    );
}

fn with_release() -> (ObjectName, Inventory) {
    let mut status = kustomization();
    status["inventory"]["entries"] = json!([{"id": "shop_shop_helm.toolkit.fluxcd.io_HelmRelease"}]);
    let mut inventory = Inventory::of(&status, 3).unwrap();
    (inventory.helm_releases.remove(0), inventory)
}

/// A HelmRelease that has installed the Deployment `web`.
fn release(ready: &str, message: &str) -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": "shop", "generation": 2},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": ready, "reason": "UpgradeSucceeded", "message": message, "observedGeneration": 2}],
            "lastAttemptedConfigDigest": "sha256:a", "lastAttemptedRevision": "1.0.0",
            "history": [{"status": "deployed", "configDigest": "sha256:a", "chartVersion": "1.0.0"}],
            "inventory": {"entries": [{"id": "shop_web_apps_Deployment", "v": "v1"}]},
        },
    })
}

#[test]
fn what_a_release_installs_is_proven_while_the_release_is_ready() {
    let (object, pods) = (deployment("ghcr.io/o/web:1.2.0"), vec![pod("ghcr.io/o/web:1.2.0")]);
    let prove = |release: &Value| {
        let (name, inventory) = with_release();
        let inventory = inventory.with_release(&name, release).unwrap();
        let workloads = [Workload {
            id: &id(&object),
            object: &object,
            pods: &pods,
        }];
        assert_eq!(inventory.workloads, [id(&object)]);
        since(&inventory.prove(REPOSITORY, &workloads, &time(NOW)))
    };
    assert_eq!(prove(&release("True", "")), "1.2.0 2026-02-01T09:30:00Z");
    assert_eq!(
        prove(&release("False", "Helm upgrade failed")),
        "HelmRelease shop/shop, which installs Deployment/shop/web, is not ready: Helm upgrade failed"
    );
    let mut newer = release("True", "");
    newer["metadata"]["generation"] = json!(3);
    assert!(prove(&newer).ends_with("is not ready: its spec has not been reconciled"));
}

#[test]
fn releases_that_are_not_looked_into_are_told_of() {
    let mut elsewhere = release("True", "");
    elsewhere["spec"] = json!({"kubeConfig": {"secretRef": {"name": "other"}}});
    let mut older = release("True", "");
    older["status"].as_object_mut().unwrap().remove("inventory");
    for (release, why) in [
        (elsewhere, "it installs to another cluster"),
        (
            older,
            "its status does not tell its objects, as that of helm-controller 1.5 and newer ones does",
        ),
    ] {
        let (name, inventory) = with_release();
        let inventory = inventory.with_release(&name, &release).unwrap();
        let said = inventory.prove(REPOSITORY, &[], &time(NOW)).unwrap_err().to_string();
        assert!(
            said.ends_with(&format!("; HelmRelease shop/shop is not looked into: {why}")),
            "{said}"
        );
    }
}

#[test]
fn names_of_images_are_compared_in_full() {
    let hub = "index.docker.io/library/nginx";
    for (image, repository, is) in [
        ("nginx:1", hub, true),
        ("docker.io/library/nginx:1", hub, true),
        ("nginx", hub, true),
        ("nginx:1", REPOSITORY, false),
        ("ghcr.io/o/web:1", REPOSITORY, true),
        ("ghcr.io/o/web-api:1", REPOSITORY, false),
        ("127.0.0.1:5000/web:1", "127.0.0.1:5000/web", true),
        ("$(IMAGE)", REPOSITORY, false),
    ] {
        assert_eq!(runs(&deployment(image), repository), is, "{image}");
    }
    assert!(
        runs(&stateful_set("ghcr.io/o/web:1"), REPOSITORY),
        "an initial container"
    );
    assert!(!runs(&json!({}), REPOSITORY));
}

#[test]
fn a_digest_is_part_of_the_version() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let both = format!("ghcr.io/o/web:1.2.0@{digest}");
    let said = since(&prove(deployment(&both), vec![pod(&both)]));
    assert_eq!(said, format!("1.2.0@{digest} 2026-02-01T09:30:00Z"));
    let said = since(&prove(deployment(&both), vec![pod("ghcr.io/o/web:1.2.0")]));
    assert!(said.ends_with("still runs 1.2.0"), "{said}");
    let alone = format!("ghcr.io/o/web@{digest}");
    let said = since(&prove(deployment(&alone), vec![pod(&alone)]));
    assert_eq!(said, "Deployment/shop/web names its image by digest alone");
    let implied = since(&prove(deployment("ghcr.io/o/web"), vec![pod("ghcr.io/o/web:latest")]));
    assert_eq!(implied, "latest 2026-02-01T09:30:00Z");
}

#[test]
fn a_workload_that_cannot_be_read_proves_nothing() {
    let said = with(false, "/status/conditions", json!("x"));
    assert!(said.starts_with("Deployment/shop/web: "), "{said}");
    let said = with(false, "/metadata/deletionTimestamp", json!(NOW));
    assert!(said.starts_with("Deployment/shop/web is Terminating"), "{said}");
}

#[test]
fn the_time_in_good_health_is_counted_down() {
    let proof = prove(deployment("ghcr.io/o/web:1.2.0"), vec![pod("ghcr.io/o/web:1.2.0")]).unwrap();
    let left = |soak: &str| {
        let soak = Duration::parse(soak.as_bytes()).unwrap();
        proof.left(soak, &time(NOW)).map(|left| left.to_string())
    };
    assert_eq!(left("24h").as_deref(), Some("21h30m0s"));
    assert_eq!(left("2h30m"), None);
    assert_eq!(left("2h30m1s").as_deref(), Some("1s"));
    assert_eq!(left("0s"), None);
}
