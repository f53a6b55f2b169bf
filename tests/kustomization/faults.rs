//! Faults while Kustomizations are applied: the API server or the controller stops, objects are refused, kinds and
//! namespaces come and go, sources change. Everything is applied in the end, nothing is pruned that should stay, and no
//! written object is ever missing in an inventory.

mod hold;
mod leaders;
mod nameless;
mod refusals;
mod waiting;
mod weather;

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION, condition_of};
use hold::Hold;
use serde_json::json;

/// How many ConfigMaps a revision has.
const MAPS: usize = 60;

/// The names of a revision's ConfigMaps: a third of them is another one each time.
fn names(revision: usize) -> Vec<String> {
    let first = revision * MAPS / 3;
    (first..first + MAPS).map(|n| format!("map{n:03}")).collect()
}

fn publish(world: &KustomizeWorld<'_>, revision: usize) {
    let maps: Vec<String> = names(revision)
        .iter()
        .map(|name| map(name, &revision.to_string()))
        .collect();
    world.publish("app", &revision.to_string(), &[("maps.yaml", &documents(&maps))]);
}

/// All of a revision is there, and nothing else.
fn is_whole(world: &KustomizeWorld<'_>, revision: usize) {
    world.applied("app", &revision.to_string());
    assert_eq!(world.maps(), names(revision));
    let id = |name: &String| format!("{}_{name}__ConfigMap", world.namespace);
    assert_eq!(
        world.inventory("app"),
        names(revision).iter().map(id).collect::<Vec<_>>()
    );
    let values = world.list(CONFIG_MAP);
    let ours = values
        .iter()
        .filter(|map| map["metadata"]["name"] != "kube-root-ca.crt");
    ours.for_each(|map| assert_eq!(map["data"]["key"], revision.to_string(), "{map:#}"));
}

/// Everything that is there and ours is in the inventory: whatever happens next, it can be found.
fn nothing_is_lost(world: &KustomizeWorld<'_>) {
    let inventory = world.inventory("app");
    for name in world.maps() {
        let id = format!("{}_{name}__ConfigMap", world.namespace);
        assert!(inventory.contains(&id), "{id} is not in {inventory:#?}");
    }
}

/// A controller has applied the first revision, through a proxy.
fn begun<'a>(cluster: &'a Cluster, namespace: &str) -> (KustomizeWorld<'a>, ApiProxy, Controller) {
    let world = KustomizeWorld::new(cluster, namespace);
    let proxy = ApiProxy::start(cluster);
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let controller = world.controller_through(&kubeconfig, "controller", &[]);
    publish(&world, 0);
    world.kustomize("app", json!({}));
    is_whole(&world, 0);
    (world, proxy, controller)
}

/// A revision was applied, and the next one is stopped in the middle of its writes.
struct Stopped<'a> {
    controller: Controller,
    world: KustomizeWorld<'a>,
    hold: Hold,
    proxy: ApiProxy,
}

impl<'a> Stopped<'a> {
    fn start(cluster: &'a Cluster, namespace: &str) -> Self {
        let (world, proxy, controller) = begun(cluster, namespace);
        let hold = Hold::at(&proxy, "/configmaps/", 10);
        publish(&world, 1);
        hold.reached(&controller);
        // Some is written, most is not, and what is to go is there.
        nothing_is_lost(&world);
        assert!(
            world.inventory("app").len() > MAPS,
            "old and new are in it: {:#?}",
            world.inventory("app")
        );
        Self {
            controller,
            world,
            hold,
            proxy,
        }
    }
}

#[test]
fn an_api_server_that_restarts_loses_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    let stopped = Stopped::start(&cluster, "restart");
    cluster.stop_apiserver();
    stopped.hold.release();
    until("the loss is told", || {
        stopped.controller.log().contains("failed to watch")
    });
    cluster.start_apiserver();
    nothing_is_lost(&stopped.world);
    is_whole(&stopped.world, 1);
    assert!(stopped.controller.is_running());
    assert!(!stopped.controller.log().contains("panicked"));
    drop(stopped.proxy);
}

/// Asked to end, it finishes what it has begun; the next one goes on.
#[test]
fn a_controller_that_is_asked_to_end_leaves_no_half() {
    let Some(cluster) = Cluster::shared() else { return };
    let Stopped {
        controller,
        world,
        hold,
        proxy: _proxy,
    } = Stopped::start(cluster, "sigterm");
    controller.signal("TERM");
    hold.release();
    assert_eq!(controller.ended(), Some(0));
    nothing_is_lost(&world);
    let _next = world.controller_through(&cluster.kubeconfig(), "next", &[]);
    is_whole(&world, 1);
}

/// Killed between two writes; meanwhile others change and delete objects, and the source moves on.
#[test]
fn a_controller_that_is_killed_is_followed_by_another() {
    let Some(cluster) = Cluster::shared() else { return };
    let Stopped {
        controller,
        world,
        hold,
        proxy: _proxy,
    } = Stopped::start(cluster, "sigkill");
    controller.kill();
    hold.release();
    nothing_is_lost(&world);
    world.patch(CONFIG_MAP, "map045", &json!({"data": {"key": "of another"}}));
    world.delete(CONFIG_MAP, "map046");
    publish(&world, 2);
    let _next = world.controller_through(&cluster.kubeconfig(), "next", &[]);
    is_whole(&world, 2);
}

/// Killed between two deletions, after the status was written once more: what is there still is known still.
#[test]
fn a_controller_that_is_killed_in_a_prune_leaves_no_orphan() {
    let Some(cluster) = Cluster::shared() else { return };
    let (world, proxy, controller) = begun(cluster, "prune");
    let hold = Hold::deletions(&proxy, "/configmaps/", 5);
    publish(&world, 1);
    hold.reached(&controller);
    let is_shown = || {
        let requests = proxy.requests();
        let mut since = requests.iter().skip_while(|request| request.method != "DELETE");
        since.any(|request| request.method == "PATCH" && request.path.ends_with("/kustomizations/app/status"))
    };
    wait_for(is_shown, || controller.log());
    assert!(world.maps().len() > MAPS, "{:#?}", world.maps());
    nothing_is_lost(&world);
    controller.kill();
    hold.release();
    nothing_is_lost(&world);
    let _next = world.controller_through(&cluster.kubeconfig(), "next", &[]);
    is_whole(&world, 1);
}

/// The archive of a revision goes while the revision is applied; the next one is what counts.
#[test]
fn an_artifact_that_is_replaced_is_followed() {
    let Some(cluster) = Cluster::shared() else { return };
    let stopped = Stopped::start(cluster, "replaced");
    publish(&stopped.world, 2);
    stopped.hold.release();
    is_whole(&stopped.world, 2);
    // A source that names an archive which is not there yet.
    let url = stopped.world.get(bumpwright_testkit::world::GIT_REPOSITORY, "app")["status"]["artifact"]["url"].clone();
    let gone = json!({"artifact": {"url": format!("{}.gone", url.as_str().unwrap()), "revision": "main@sha1:0", "digest":
        "sha256:0000000000000000000000000000000000000000000000000000000000000000"}});
    stopped
        .world
        .patch_status(bumpwright_testkit::world::GIT_REPOSITORY, "app", &gone);
    let message = stopped.world.refused("app", "ArtifactFailed");
    assert_eq!(message, "Source is not ready, artifact not found, retrying in 1s");
    nothing_is_lost(&stopped.world);
    // One whose archive has been replaced, as it is while the status of the source is behind: no event, and
    // soon again (Flux 2.10).
    let other =
        json!({"artifact": {"url": url, "revision": "main@sha1:1", "digest": format!("sha256:{}", "1".repeat(64))}});
    let events = || {
        let events = stopped.world.list(bumpwright_testkit::world::EVENT);
        events
            .iter()
            .filter(|event| event["reason"] == "ArtifactFailed")
            .count()
    };
    let before = events();
    stopped
        .world
        .patch_status(bumpwright_testkit::world::GIT_REPOSITORY, "app", &other);
    let message = "Source is not ready, artifact digest changed, retrying in 1s";
    stopped.world.ready(KUSTOMIZATION, "app", "False", |reason, said| {
        reason == "ArtifactFailed" && said == message
    });
    assert_eq!(events(), before);
    nothing_is_lost(&stopped.world);
    publish(&stopped.world, 3);
    is_whole(&stopped.world, 3);
}

/// Waiting for objects that never get ready takes no worker away.
#[test]
fn the_unhealthy_do_not_slow_the_healthy() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "unhealthy");
    let template = json!({
        "metadata": {"labels": {"app": "never"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]},
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "never"},
        "spec": {"selector": {"matchLabels": {"app": "never"}}, "template": template},
    });
    world.publish("never", "1", &[("all.yaml", &deployment.to_string())]);
    world.publish("well", "1", &[("all.yaml", &map("well", "1"))]);
    let many = |name: &str, count: usize| -> Vec<String> { (0..count).map(|n| format!("{name}{n}")).collect() };
    let (unhealthy, healthy) = (many("never", 20), many("well", 30));
    let spec = |source: &str, name: &str| {
        let reference = json!({"kind": "GitRepository", "name": source});
        json!({"sourceRef": reference, "namePrefix": format!("{name}-"), "wait": true, "timeout": "1h"})
    };
    // Those that never end come first.
    unhealthy
        .iter()
        .for_each(|name| world.kustomize(name, spec("never", name)));
    let controller = world.controller(&["--concurrent=2"]);
    for name in &unhealthy {
        wait_for(
            || {
                let object = world.get(KUSTOMIZATION, name);
                condition_of(&object, "Healthy").is_some_and(|healthy| healthy["status"] == "Unknown")
            },
            || controller.log(),
        );
    }
    healthy
        .iter()
        .for_each(|name| world.kustomize(name, spec("well", name)));
    healthy.iter().for_each(|name| world.applied(name, "1"));
    // A new revision reaches all of them: also those that wait give up waiting for the old one.
    world.publish("well", "2", &[("all.yaml", &map("well", "2"))]);
    healthy.iter().for_each(|name| world.applied(name, "2"));
    let stuck = |name: &&String| {
        let object = world.get(KUSTOMIZATION, name);
        condition_of(&object, "Ready").is_some_and(|ready| ready["status"] == "Unknown")
    };
    assert_eq!(unhealthy.iter().filter(stuck).count(), 20);
    // And nobody has to wait for them when it ends.
    assert_eq!(controller.stop(), Some(0));
}
