//! `bumpwright status`.

use super::{json, ok, run};
use crate::seed::{add, ago, ready, seeded};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::world::{KUSTOMIZATION, World};
use serde_json::{Value as Json, json};

#[test]
fn documents_have_the_same_things() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "status-b");
    let document = json(&world, &["status"]);
    assert_eq!(document["version"], 1);
    assert_eq!(
        document["counts"]["kustomizations"],
        json!({"all": 4, "ready": 2, "failed": 2, "suspended": 0})
    );
    let attention = document["attention"].as_array().unwrap();
    let apps = attention
        .iter()
        .find(|one| one["id"] == "Kustomization/status-b/apps")
        .unwrap();
    assert_eq!(apps["blocks"], json!(["Kustomization/status-b/jobs"]));
    // What fails since another one does is not told again.
    assert!(
        attention.iter().all(|one| one["id"] != "Kustomization/status-b/jobs"),
        "{attention:#?}"
    );
    // YAML has the same, in Go's style.
    let yaml = ok(&world, &["status", "-o", "yaml"]);
    let tree: serde_json::Value = serde_saphyr::from_str(&yaml).unwrap();
    assert_eq!(tree, document);
    assert!(
        yaml.starts_with("attention:\n- blocks:\n  - ImageUpdateAutomation/status-b/team\n"),
        "{yaml}"
    );
}

#[test]
fn a_pipeline_can_ask_whether_all_is_well() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "status-c");
    let ran = run(cluster, &["status", "--exit-code", "-n", &world.namespace]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let empty = World::new(cluster, "status-empty");
    let ran = run(cluster, &["status", "--exit-code", "-n", &empty.namespace]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.ends_with("\nNothing needs attention\n"), "{}", ran.out);
}

/// Kustomizations that wait for each other, and nothing else is wrong.
#[test]
fn a_circle_needs_attention() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "status-circle");
    for (name, other) in [("one", "two"), ("two", "one")] {
        let spec = json!({"spec": {"interval": "1h", "prune": false, "path": "./", "dependsOn": [{"name": other}],
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}}});
        let status = json!({"conditions": ready("False", "DependencyNotReady", "dependency is not ready", 600)});
        add(&world, KUSTOMIZATION, name, spec, &status);
    }
    let ran = run(cluster, &["status", "--exit-code", "-n", &world.namespace]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let circle = "status-circle/one -> status-circle/two -> status-circle/one";
    assert!(
        ran.out.contains("\nNeeds attention: 1\n") && ran.out.contains(circle),
        "{}",
        ran.out
    );
}

/// What waits for something that is at work is told with it, and not by entries of its own.
#[test]
fn a_cause_that_is_in_progress_is_one_entry() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "status-progress");
    let spec = |depends: Json| {
        json!({"spec": {"interval": "1h", "prune": false, "path": "./", "dependsOn": depends,
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}}})
    };
    let busy = json!({"conditions": ready("Unknown", "Progressing", "running health checks", 180)});
    add(&world, KUSTOMIZATION, "infra", spec(json!([])), &busy);
    for n in 0..10 {
        let why = "dependency 'status-progress/infra' is not ready";
        let waits = json!({"conditions": ready("False", "DependencyNotReady", why, 60)});
        add(
            &world,
            KUSTOMIZATION,
            &format!("app-{n}"),
            spec(json!([{"name": "infra"}])),
            &waits,
        );
    }
    let ran = run(cluster, &["status", "-n", &world.namespace]);
    let told = [
        "\nNeeds attention: 1\n",
        "Kustomization/status-progress/infra in progress for 3m",
        ", 10 wait for it: Progressing\n",
    ];
    assert!(told.iter().all(|text| ran.out.contains(text)), "{}", ran.out);
}

/// Nobody holds the lease: what objects say is of another time.
#[test]
fn a_controller_that_does_not_run_needs_attention() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "status-idle");
    let spec = json!({"spec": {"interval": "1h", "prune": false, "path": "./",
        "sourceRef": {"kind": "GitRepository", "name": "fleet"}}});
    let fine = json!({"conditions": ready("True", "ReconciliationSucceeded", "Applied", 9000)});
    add(&world, KUSTOMIZATION, "apps", spec, &fine);
    let look = || run(cluster, &["status", "--exit-code", "-n", &world.namespace]);
    assert_eq!(look().code, 0, "{}", look().out);
    let lease = |holder: &str, renewed: i64| {
        let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15,
            "renewTime": ago(renewed).replace('Z', ".000000Z")});
        world.apply(
            &json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec,
            "metadata": {"name": "kustomize-controller-leader-election", "namespace": world.namespace}}),
        );
    };
    lease("kustomize-controller-0_1", 0);
    assert_eq!(look().code, 0, "{}", look().out);
    lease("kustomize-controller-0_1", 7200);
    let ran = look();
    assert_eq!(ran.code, 1, "{}", ran.out);
    let told = "kustomize-controller does not run: kustomize-controller-0_1 has not renewed its lease in time";
    assert!(ran.out.contains(told), "{}", ran.out);
    assert!(ran.out.contains("blocks Kustomization/status-idle/apps"), "{}", ran.out);
    // What has changed since the lease was renewed has somebody who works without one.
    let newer = json!({"conditions": ready("True", "ReconciliationSucceeded", "Applied", 600)});
    world.patch_status(KUSTOMIZATION, "apps", &newer);
    let ran = look();
    assert_eq!(ran.code, 0, "{}", ran.out);
    let told = "but Kustomization/status-idle/apps has changed since then: a controller without --enable-leader-election is at work";
    assert!(ran.out.contains(told), "{}", ran.out);
}

#[test]
fn all_namespaces_are_told_by_name() {
    let Some(cluster) = Cluster::shared() else { return };
    let _ = seeded(cluster, "status-d");
    let ran = run(cluster, &["status", "-A"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let attention = run(cluster, &["status", "-A", "-o", "json"]).out;
    assert!(attention.contains("\"Kustomization/status-d/apps\""), "{attention}");
}
