//! Controllers that reconcile the same Kustomizations without our lease are known by the statuses that they write.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{EVENT, KUSTOMIZATION};
use serde_json::{Value as Json, json};

/// The warnings about a second controller.
fn warnings(world: &KustomizeWorld<'_>) -> Vec<String> {
    let events = world.list(EVENT).into_iter();
    let told = events.filter(|event| event["reason"] == "SecondController" && event["type"] == "Warning");
    told.map(|event| event["message"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Writes a part of the status as another manager.
fn write(world: &KustomizeWorld<'_>, name: &str, manager: &str, message: &str) {
    let mut object = world.get(KUSTOMIZATION, name);
    let conditions = object["status"]["conditions"].as_array_mut().unwrap();
    conditions
        .iter_mut()
        .for_each(|condition| condition["message"] = json!(message));
    let path = format!("{}/status?fieldManager={manager}", world.path(KUSTOMIZATION, name));
    let patch: Json = json!({"status": {"conditions": conditions}});
    let answer = world.cluster.merge_patch(&path, &patch);
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn a_controller_without_our_lease_is_named_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "rivals");
    world.publish("app", "1", &[("all.yaml", &map("one", "1"))]);
    for name in ["app", "other"] {
        world.kustomize(
            name,
            json!({"sourceRef": {"kind": "GitRepository", "name": "app"}, "prune": false}),
        );
    }
    let _controller = world.controller(&[]);
    let apply = |revision: &str| {
        world.publish("app", revision, &[("all.yaml", &map("one", revision))]);
        ["app", "other"].iter().for_each(|name| world.applied(name, revision));
    };
    apply("2");
    // People may.
    write(&world, "app", "kubectl-edit", "by hand");
    apply("3");
    assert!(warnings(&world).is_empty(), "{:?}", warnings(&world));
    write(&world, "app", "rival-controller", "I do this as well");
    write(&world, "other", "rival-controller", "and this");
    apply("4");
    let told = wait_for(
        || Some(warnings(&world)).filter(|all| !all.is_empty()),
        || "no warning".to_owned(),
    );
    assert!(told[0].contains("also written by rival-controller"), "{told:?}");
    write(&world, "app", "rival-controller", "again");
    apply("5");
    assert_eq!(warnings(&world).len(), 1, "{:?}", warnings(&world));
}
