//! Several processes share the objects: members come and go, each object is reconciled once. The leases are so long
//! that a slow machine loses none; what happens to processes that are killed is in `tests/real/shards.rs`.

mod disk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::shards::{Fleet, ShardWorld};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{KUSTOMIZATION, LEASE};
use serde_json::Value;

const FLAGS: [&str; 4] = [
    "--shards",
    "--leader-election-lease-duration=10m",
    "--leader-election-renew-deadline=9m",
    "--leader-election-retry-period=200ms",
];

const FLEET: Fleet = Fleet {
    repositories: 4,
    kustomizations: 24,
    automations: 8,
};

const SMALL: Fleet = Fleet {
    repositories: 1,
    kustomizations: 1,
    automations: 0,
};

/// The holder of the lease that Flux's controller would have.
fn holder(world: &ShardWorld<'_>) -> String {
    holder_of(&world.get(LEASE, "kustomize-controller-leader-election")).to_owned()
}

fn holder_of(lease: &Value) -> &str {
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default()
}

#[test]
fn processes_come_and_go_and_each_change_is_made_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ShardWorld::new(cluster, "shards", FLEET);
    let start = |name: &str| world.shard(name, &cluster.kubeconfig(), &FLAGS);
    let first = start("a");
    world.shared(&[&first]);
    world.all_applied("0");
    let alone = first.log();
    assert!(alone.contains("epoch 1 with 1 members"), "{alone}");

    let (second, third) = (start("b"), start("c"));
    world.shared(&[&first, &second, &third]);
    world.commit_all("1");
    world.release_all("1.1.0");
    world.all_in_git("1.1.0");
    world.all_applied("1");

    // A process without the flag waits, as one of Flux's would.
    let other = world
        .starter("other")
        .flags(&["--controllers=kustomize", "--enable-leader-election"])
        .start();
    until("it is ready", || {
        other.probe("readyz").is_some_and(|(status, _)| status == 200)
    });
    assert!(!other.leads("kustomize-controller-leader-election"));
    assert!(holder(&world).starts_with("bumpwright-shards-"), "{}", holder(&world));
    other.stop();

    assert_eq!(first.stop(), Some(0));
    world.shared(&[&second, &third]);
    world.commit_all("2");
    world.release_all("1.2.0");
    world.all_in_git("1.2.0");
    world.all_applied("2");
    assert_eq!(world.bumps(), 2 * FLEET.automations, "each change is committed once");

    // What is deleted is cleaned up by its owner.
    world.delete(KUSTOMIZATION, "k-0");
    world.gone(KUSTOMIZATION, "k-0");

    let stopped = [second, third].map(Controller::stop);
    assert_eq!(stopped, [Some(0), Some(0)]);
    assert_eq!(holder(&world), "", "the last one gives the leases back");
    let left = world.list(LEASE);
    let members: Vec<_> = left
        .iter()
        .filter_map(|lease| lease["metadata"]["name"].as_str())
        .filter(|name| name.starts_with("bumpwright-shard-"))
        .collect();
    assert_eq!(members, Vec::<&str>::new());
}

/// A renewal that was under way comes between the look at a lease and its release.
#[test]
fn leases_are_given_back_after_a_late_renewal() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ShardWorld::new(cluster, "shards-late", SMALL);
    let proxy = ApiProxy::start(cluster);
    proxy.renew_before_release(cluster);
    let only = world.shard("a", &proxy.kubeconfig(world.folder.path(), None), &FLAGS);
    world.all_applied("0");
    assert_eq!(only.stop(), Some(0));
    for (name, lease) in controller_leases(&world) {
        assert_eq!(holder_of(&lease), "", "{name}");
        assert_eq!(lease["metadata"]["labels"]["renewed"], "late", "{name}");
    }
}

/// The process ends while it waits for the answer to a renewal.
#[test]
fn leases_are_given_back_during_a_renewal() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ShardWorld::new(cluster, "shards-during", SMALL);
    let proxy = ApiProxy::start(cluster);
    let only = world.shard("a", &proxy.kubeconfig(world.folder.path(), None), &FLAGS);
    world.all_applied("0");

    let waits = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&waits);
    proxy.intercept(move |request| {
        let is_renewal = request.path.contains("-controller-leader-election")
            && String::from_utf8_lossy(&request.body).contains(r#""holderIdentity":"bumpwright"#);
        if is_renewal && !seen.swap(true, Ordering::SeqCst) {
            thread::sleep(Duration::from_secs(3));
        }
        None
    });
    until("a renewal waits", || waits.load(Ordering::SeqCst));
    assert_eq!(only.stop(), Some(0));
    for (name, lease) in controller_leases(&world) {
        assert_eq!(holder_of(&lease), "", "{name}");
    }
}

/// The leases of the controllers, with their names.
fn controller_leases(world: &ShardWorld<'_>) -> [(&'static str, Value); 4] {
    ["image-reflector", "image-automation", "source", "kustomize"]
        .map(|name| (name, world.get(LEASE, &format!("{name}-controller-leader-election"))))
}

#[test]
fn the_flag_needs_leases() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ShardWorld::new(
        cluster,
        "shards-alone",
        Fleet {
            repositories: 0,
            kustomizations: 0,
            automations: 0,
        },
    );
    let controller = world.starter("a").flags(&["--shards"]).start();
    assert_eq!(controller.ended(), Some(2));
    controller.says("--shards needs --enable-leader-election");
}
