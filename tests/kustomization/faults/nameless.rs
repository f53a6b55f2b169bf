//! Objects that become invalid by a missing variable: the applied object is not deleted for
//! that (Flux drops such an object silently, and deletes it).

use serde_json::json;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map, revision};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{CONFIG_MAP, EVENT, KUSTOMIZATION, SECRET};

#[test]
fn an_object_that_loses_its_name_is_told_and_not_deleted() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "nameless");
    let _controller = world.controller(&["--feature-gates=StrictPostBuildSubstitutions=false"]);
    world.put(CONFIG_MAP, "names", json!({"data": {"NAME": "named", "OTHER": "x"}}));
    let variables = json!({"substituteFrom": [{"kind": "ConfigMap", "name": "names"}]});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "plain"}}).to_string();
    world.publish(
        "app",
        "1",
        &[("a.yaml", &documents(&[map("${NAME}", "1"), map("b", "1"), secret]))],
    );
    world.kustomize("app", json!({"postBuild": variables}));
    world.applied("app", "1");
    assert_eq!(world.maps(), ["b", "named", "names"]);

    // The name goes, and with it the Secret of which nothing is unclear.
    world.patch(CONFIG_MAP, "names", &json!({"data": {"NAME": null}}));
    world.publish(
        "app",
        "2",
        &[("a.yaml", &documents(&[map("${NAME}", "2"), map("b", "2")]))],
    );
    let said = "a.yaml:1:1: ConfigMap nameless/ has no apiVersion, kind or name once its variables are replaced; it is left out";
    let message = world.ready(KUSTOMIZATION, "app", "True", |_, message| {
        message.contains(&revision("2"))
    });
    let lines: Vec<&str> = message.lines().collect();
    let kept = "what was applied before and may be one of these is not deleted";
    assert_eq!(lines, [&*format!("Applied revision: {}", revision("2")), said, kept]);
    assert_eq!(world.maps(), ["b", "named", "names"]);
    assert_eq!(world.value("b", "key"), "2");
    assert_eq!(
        world.inventory("app"),
        ["nameless_b__ConfigMap", "nameless_named__ConfigMap"]
    );
    assert_eq!(cluster.request("GET", &world.path(SECRET, "plain"), "", "").status, 404);
    until("an event tells of it", || {
        let events = world.list(EVENT);
        let told = events.iter().find(|event| event["reason"] == "ObjectLeftOut");
        told.is_some_and(|event| event["message"] == said && event["type"] == "Warning")
    });

    // It is there again, and goes for good when its manifest does.
    world.patch(CONFIG_MAP, "names", &json!({"data": {"NAME": "named"}}));
    world.publish(
        "app",
        "3",
        &[("a.yaml", &documents(&[map("${NAME}", "3"), map("b", "3")]))],
    );
    world.applied("app", "3");
    assert_eq!(world.value("named", "key"), "3");
    world.publish("app", "4", &[("a.yaml", &map("b", "4"))]);
    world.applied("app", "4");
    assert_eq!(world.maps(), ["b", "names"]);
}

/// Without a prune it is told all the same.
#[test]
fn what_was_never_there_is_told_too() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "never-named");
    let _controller = world.controller(&["--feature-gates=StrictPostBuildSubstitutions=false"]);
    world.publish(
        "app",
        "1",
        &[("a.yaml", &documents(&[map("${NAME}", "1"), map("b", "1")]))],
    );
    world.kustomize(
        "app",
        json!({"prune": false, "postBuild": {"substitute": {"OTHER": "x"}}}),
    );
    world.ready(KUSTOMIZATION, "app", "True", |_, message| {
        message.contains("it is left out")
    });
    assert_eq!(world.inventory("app"), ["never-named_b__ConfigMap"]);
}
