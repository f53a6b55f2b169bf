//! Kustomizations of a kustomize-controller of the time of v1beta1: their definition had that version only, and their
//! status a snapshot of kinds and no inventory (KB-050, docs/decisions.md C03). Its applied objects that are no longer
//! in the source are deleted, once.
//!
//! Takes about fifteen seconds.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{CONFIG_MAP, EVENT, KUSTOMIZATION, ObjectKind, World};
use serde_json::{Value as Json, json};

const OLD: ObjectKind = ObjectKind {
    api_version: "kustomize.toolkit.fluxcd.io/v1beta1",
    ..KUSTOMIZATION
};

const GROUP: &str = "kustomize.toolkit.fluxcd.io";

/// The definition of the old controller, as far as it counts: the only version, which is stored, and a
/// status of its own.
fn old_definition() -> Json {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": anything, "status": anything}});
    let version = json!({
        "name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("kustomizations.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "versions": [version],
            "names": {"kind": "Kustomization", "listKind": "KustomizationList", "plural": "kustomizations", "singular": "kustomization"},
        },
    })
}

/// A ConfigMap as the old controller has applied it for a Kustomization.
fn put_old(world: &World<'_>, owner: &str, name: &str, more: Json) {
    let mut metadata = json!({
        "labels": {format!("{GROUP}/name"): owner, format!("{GROUP}/namespace"): world.namespace},
        "annotations": {format!("{GROUP}/checksum"): "0a1b2c"},
    });
    for (key, value) in more.as_object().unwrap() {
        match (&mut metadata[key], value) {
            (Json::Object(all), Json::Object(some)) => all.extend(some.clone()),
            (all, value) => *all = value.clone(),
        }
    }
    world.put(CONFIG_MAP, name, json!({"metadata": metadata, "data": {"key": "old"}}));
}

/// A Kustomization of v1beta1, and the status that the old controller gave it.
fn add_old(world: &World<'_>, name: &str, prune: bool) {
    let spec = json!({
        "interval": "1h", "retryInterval": "1s", "path": "./", "prune": prune, "targetNamespace": world.namespace,
        "sourceRef": {"kind": "GitRepository", "name": name}, "validation": "client",
    });
    world.put(
        OLD,
        name,
        json!({"metadata": {"finalizers": ["finalizers.fluxcd.io"]}, "spec": spec}),
    );
    let kinds = json!({"/v1, Kind=ConfigMap": "ConfigMap", "extensions/v1beta1, Kind=Ingress": "Ingress"});
    let cluster_kinds = json!({"rbac.authorization.k8s.io/v1, Kind=ClusterRole": "ClusterRole"});
    let entries = json!([{"namespace": world.namespace, "kinds": kinds}, {"namespace": "", "kinds": cluster_kinds}]);
    let status = json!({
        "lastAppliedRevision": "main/0123456789", "observedGeneration": 1,
        "snapshot": {"checksum": "0a1b2c", "entries": entries},
    });
    world.patch_status(OLD, name, &status);
}

fn snapshot(world: &World<'_>, name: &str) -> Json {
    world.get(KUSTOMIZATION, name)["status"]["snapshot"].clone()
}

/// The objects of an old controller in a namespace: a Kustomization with objects that count as its own, and others.
fn leave_behind(world: &World<'_>, name: &str, prune: bool) {
    add_old(world, name, prune);
    put_old(world, name, "kept", json!({}));
    put_old(world, name, "stale", json!({}));
    put_old(
        world,
        name,
        "precious",
        json!({"annotations": {format!("{GROUP}/prune"): "disabled"}}),
    );
    let owner =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "kept", "uid": "1", "blockOwnerDeletion": true});
    put_old(world, name, "derived", json!({"ownerReferences": [owner]}));
    put_old(
        world,
        name,
        "unmarked",
        json!({"annotations": {format!("{GROUP}/checksum"): ""}}),
    );
    put_old(world, "another", "foreign", json!({}));
}

#[test]
fn what_an_old_controller_applied_is_pruned_once() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.apply(&old_definition().to_string());
    let names = ["moves", "unpruned", "limited", "leaves"];
    for name in names {
        let world = World::new(&cluster, name);
        leave_behind(&world, name, name != "unpruned");
    }
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": "old-role", "annotations": {format!("{GROUP}/checksum"): "0a1b2c"},
            "labels": {format!("{GROUP}/name"): "moves", format!("{GROUP}/namespace"): "moves"},
        },
    });
    cluster.apply(&role.to_string());
    // Ours are put over the old definition.
    let worlds = names.map(|name| KustomizeWorld::new(&cluster, name));
    for (world, name) in worlds.iter().zip(names) {
        assert_eq!(snapshot(world, name)["checksum"], "0a1b2c", "the new versions keep it");
        world.publish(name, "1", &[("map.yaml", &map("kept", "new"))]);
    }
    let [moves, unpruned, limited, leaves] = &worlds;
    let others = ["derived", "foreign", "kept", "precious", "unmarked"];

    let controller = moves.controller(&[]);
    moves.applied("moves", "1");
    assert_eq!(moves.maps(), others);
    assert_eq!(cluster.request("GET", &cluster.path_of(&role), "", "").status, 404);
    assert_eq!(moves.inventory("moves"), ["moves_kept__ConfigMap"]);
    assert_eq!(snapshot(moves, "moves"), Json::Null);
    let kept = moves.get(CONFIG_MAP, "kept");
    assert_eq!(kept["data"]["key"], "new");
    assert_eq!(kept["metadata"]["annotations"][format!("{GROUP}/checksum")], Json::Null);
    // Objects of that time are not searched any more.
    put_old(moves, "moves", "later", json!({}));
    moves.again("moves", "again");
    moves.applied("moves", "1");
    assert!(moves.maps().contains(&"later".to_owned()));
    drop(controller);

    // Nothing is deleted without prune.
    let controller = unpruned.controller(&[]);
    unpruned.applied("unpruned", "1");
    assert!(unpruned.maps().contains(&"stale".to_owned()));
    assert_eq!(snapshot(unpruned, "unpruned"), Json::Null);
    drop(controller);

    // Nor above the limit; the kept objects stay in the inventory.
    let limit = json!({"metadata": {"annotations": {"bumpwright.dev/max-prune": "0"}}});
    limited.patch(KUSTOMIZATION, "limited", &limit);
    let controller = limited.controller(&[]);
    let message = limited.refused("limited", "PruneRefused");
    assert!(message.contains("refused to prune 2 of 3 objects"), "{message}");
    assert_eq!(limited.inventory("limited").len(), 3, "kept, stale and precious");
    limited.patch(
        KUSTOMIZATION,
        "limited",
        &json!({"metadata": {"annotations": {"bumpwright.dev/max-prune": null}}}),
    );
    limited.applied("limited", "1");
    assert_eq!(limited.maps(), others);
    drop(controller);

    // A Kustomization that goes before it was ever reconciled by us takes its objects along.
    leaves.delete(KUSTOMIZATION, "leaves");
    let controller = leaves.controller(&[]);
    leaves.gone(KUSTOMIZATION, "leaves");
    assert_eq!(leaves.maps(), ["derived", "foreign", "precious", "unmarked"]);
    assert!(!controller.log().contains("panicked"));
}

/// An account that may not list a kind of the snapshot: the visible objects are pruned, and the rest is reported.
#[test]
fn what_cannot_be_seen_is_told_and_stays() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "unseen");
    leave_behind(&world, "app", true);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "maps", "namespace": "unseen"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "maps", "namespace": "unseen"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": "unseen"}],
    });
    world.apply(&role);
    world.apply(&binding);
    world.publish("app", "1", &[("map.yaml", &map("kept", "new"))]);
    world.kustomize("app", json!({"serviceAccountName": "deployer"}));
    let _controller = world.controller(&[]);
    world.applied("app", "1");
    assert!(!world.maps().contains(&"stale".to_owned()));
    until("it is told", || {
        let events = world.list(EVENT);
        let told = events.iter().find(|event| event["reason"] == "SnapshotUnseen");
        told.is_some_and(|event| {
            let message = event["message"].as_str().unwrap();
            message.contains("ClusterRole of the cluster: ")
                && message.contains("cannot list resource \"clusterroles\"")
        })
    });
}
