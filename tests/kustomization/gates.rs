//! Flux's flags and gates whose effect no other suite shows (docs/reference/flux-versions.md).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::CONFIG_MAP;
use serde_json::json;

/// The gate `GroupChangeLog`: the objects of each action, in place of the action of each object.
#[test]
fn a_log_has_changes_by_object_or_by_action() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "grouped");
    let maps = documents(&[map("one", "a"), map("two", "b")]);
    world.publish("app", "1", &[("maps.yaml", &maps)]);
    world.kustomize("app", json!({}));
    let name = |map: &str| format!("ConfigMap/{}/{map}", world.namespace);
    let (one, two) = (name("one"), name("two"));

    let controller = world.controller(&[]);
    world.applied("app", "1");
    controller.says(&format!(r#""output":{{"{one}":"created","{two}":"created"}}"#));
    assert_eq!(controller.stop(), Some(0));

    let controller = world.controller(&["--feature-gates=GroupChangeLog=true"]);
    let maps = documents(&[map("one", "c"), map("two", "d")]);
    world.publish("app", "2", &[("maps.yaml", &maps)]);
    world.applied("app", "2");
    controller.says(&format!(r#""output":{{"configured":["{one}","{two}"]}}"#));
    assert_eq!(controller.stop(), Some(0));
}

/// The gate `DisableConfigWatchers`: what a Kustomization refers to counts when it is reconciled, not when it changes.
#[test]
fn configs_that_are_not_watched_count_at_the_next_reconciliation() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "unwatched");
    world.put(
        CONFIG_MAP,
        "values",
        json!({"metadata": {"labels": {"reconcile.fluxcd.io/watch": "Enabled"}}, "data": {"value": "a"}}),
    );
    world.publish("app", "1", &[("map.yaml", &map("app", "${value}"))]);
    let from = [json!({"kind": "ConfigMap", "name": "values"})];
    world.kustomize("app", json!({"postBuild": {"substituteFrom": from}}));
    let changes_to = |value: &str| world.patch(CONFIG_MAP, "values", &json!({"data": {"value": value}}));

    let controller = world.controller(&[]);
    until("the first value is applied", || world.value("app", "key") == "a");
    changes_to("b");
    until("a change is applied by itself", || world.value("app", "key") == "b");
    assert_eq!(controller.stop(), Some(0));

    let controller = world.controller(&["--feature-gates=DisableConfigWatchers=true"]);
    world.again("app", "once it runs");
    changes_to("c");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(world.value("app", "key"), "b");
    world.again("app", "once it changed");
    until("the change is applied when asked for", || {
        world.value("app", "key") == "c"
    });
    assert_eq!(controller.stop(), Some(0));
}

/// `--concurrent-ssa`: how many objects of a Kustomization are asked about or written at a time.
#[test]
fn objects_are_applied_as_many_at_a_time_as_the_flag_says() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "at-a-time");
    world.kustomize("app", json!({}));
    let proxy = ApiProxy::start(cluster);
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let ours = format!("/api/v1/namespaces/{}/configmaps/map-", world.namespace);
    let seen = Arc::clone(&most);
    proxy.intercept(move |request| {
        if request.path.starts_with(&ours) && request.method == "PATCH" {
            seen.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(50));
            under_way.fetch_sub(1, Ordering::SeqCst);
        }
        None
    });
    for (revision, flag, wanted) in [("1", "1", 1), ("2", "3", 3)] {
        most.store(0, Ordering::SeqCst);
        let maps: Vec<_> = (0..9).map(|number| map(&format!("map-{number}"), revision)).collect();
        world.publish("app", revision, &[("maps.yaml", &documents(&maps))]);
        let flag = format!("--concurrent-ssa={flag}");
        let controller = world.controller_through(&kubeconfig, &format!("controller-{revision}"), &[&flag]);
        world.applied("app", revision);
        assert_eq!(most.load(Ordering::SeqCst), wanted, "{flag}");
        assert_eq!(controller.stop(), Some(0));
    }
}
