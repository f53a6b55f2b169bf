//! Two real processes and one lease: one is active, the other waits, however the first one ends. The leases are those
//! of Flux's controllers, so the rules are client-go's (`tools/leaderelection`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::git_http::Fault;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, LEASE};
use serde_json::json;

/// A lease that is over soon, and that a process keeps which has to wait for its turn on a busy machine.
const SHORT: [&str; 4] = [
    "--enable-leader-election",
    "--leader-election-lease-duration=10s",
    "--leader-election-renew-deadline=8s",
    "--leader-election-retry-period=300ms",
];

/// A leader that gives up long before others may begin.
const WIDE: [&str; 4] = [
    "--enable-leader-election",
    "--leader-election-lease-duration=10s",
    "--leader-election-renew-deadline=3s",
    "--leader-election-retry-period=300ms",
];

/// A lease that is not over while a test runs.
const LONG: [&str; 4] = [
    "--enable-leader-election",
    "--leader-election-lease-duration=10m",
    "--leader-election-renew-deadline=9m",
    "--leader-election-retry-period=300ms",
];

const LEASES: [&str; 2] = [
    "image-automation-controller-leader-election",
    "image-reflector-controller-leader-election",
];

fn lease(world: &ImageWorld<'_>, name: &str) -> serde_json::Value {
    world.get(LEASE, name)["spec"].clone()
}

/// Seconds since midnight of a `metav1.MicroTime`.
fn moment(time: &serde_json::Value) -> f64 {
    let clock = time.as_str().unwrap().split(['T', 'Z']).nth(1).unwrap();
    clock
        .split(':')
        .fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}

const DAY: f64 = 86_400.0;

fn leads(controller: &Controller) -> bool {
    LEASES.iter().all(|lease| controller.leads(lease))
}

fn await_leader(controller: &Controller) {
    until("it leads", || leads(controller));
}

/// Two controllers, of which the first leads.
fn two(world: &ImageWorld<'_>, flags: &[&str]) -> (Controller, Controller) {
    let kubeconfig = world.cluster.kubeconfig();
    let first = world.controller_at(&kubeconfig, "first", flags);
    await_leader(&first);
    let second = world.controller_at(&kubeconfig, "second", flags);
    until("the second one is ready", || {
        second.probe("readyz").is_some_and(|(status, _)| status == 200)
    });
    (first, second)
}

/// Publishes a tag, has it looked for, and waits for its commit.
fn bump(world: &ImageWorld<'_>, tag: &str, commits: usize) {
    world.release(tag);
    world.committed(tag, commits);
}

#[test]
fn one_acts_and_the_other_takes_over_when_it_is_killed() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "killed", "1h");
    let (first, second) = two(&world, &SHORT);
    world.settled();
    bump(&world, "1.1.0", 2);
    assert!(!leads(&second));
    let depth = "workqueue_depth{controller=\"imagepolicy\",name=\"imagepolicy\",priority=\"0\"}";
    assert_eq!(
        second.metric(depth),
        Some(0.0),
        "nothing waits for a process that does not lead"
    );
    first.says("reconcileID");
    assert!(!second.log().contains("reconcileID"));
    drop(first);
    let renewed = LEASES.map(|name| moment(&lease(&world, name)["renewTime"]));
    await_leader(&second);
    for (name, renewed) in LEASES.into_iter().zip(renewed) {
        let silent = (moment(&lease(&world, name)["acquireTime"]) - renewed).rem_euclid(DAY);
        assert!(silent >= 10.0, "{name} was taken after {silent} s");
    }
    bump(&world, "1.2.0", 3);
}

#[test]
fn a_leader_that_is_asked_to_end_gives_its_lease_back() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "asked", "1h");
    let (first, second) = two(&world, &LONG);
    world.settled();
    first.signal("TERM");
    assert_eq!(first.ended(), Some(0), "{}", first.log());
    // With this lease there is no other way to it.
    await_leader(&second);
    for name in LEASES {
        assert_eq!(lease(&world, name)["leaseTransitions"], 1);
    }
    bump(&world, "1.1.0", 2);
}

/// A renewal that was under way comes between the look at the lease and its release.
#[test]
fn a_late_renewal_does_not_keep_the_lease() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "renewed-late", "1h");
    let proxy = ApiProxy::start(cluster);
    proxy.renew_before_release(cluster);
    let first = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "first", &LONG);
    await_leader(&first);
    assert_eq!(first.stop(), Some(0));
    for name in LEASES {
        let object = world.get(LEASE, name);
        assert_eq!(
            object["spec"]["holderIdentity"].as_str().unwrap_or_default(),
            "",
            "{name}"
        );
        assert_eq!(object["metadata"]["labels"]["renewed"], "late", "{name}");
    }
}

/// A machine that sleeps, or a hypervisor: the process does not know that time has passed.
#[test]
fn a_leader_that_was_paused_for_too_long_ends() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "paused", "1h");
    let (first, second) = two(&world, &SHORT);
    world.settled();
    first.signal("STOP");
    await_leader(&second);
    first.signal("CONT");
    assert_eq!(first.ended(), Some(2));
    let log = first.log();
    assert!(log.contains("leader election lost"), "{log}");
    bump(&world, "1.1.0", 2);
}

#[test]
fn a_leader_that_loses_its_api_server_ends_before_the_other_begins() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "lonely", "1h");
    let proxy = ApiProxy::start(cluster);
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let first = world.controller_at(&kubeconfig, "first", &WIDE);
    await_leader(&first);
    let second = world.controller(&WIDE);
    world.settled();
    proxy.intercept(|_| Some(Reply::hang_up()));
    proxy.cut_watches();
    let both = until("the first one ends", || {
        // In this order: whatever happens between the two looks, it is no overlap.
        let follows = leads(&second);
        let runs = first.is_running();
        (follows || !runs).then_some(follows && runs)
    });
    assert!(!both, "two lead at once");
    assert_eq!(first.ended(), Some(2));
    assert!(first.log().contains("failed to renew lease"), "{}", first.log());
    await_leader(&second);
    bump(&world, "1.1.0", 2);
}

/// As client-go: what it wrote last is what there is, unless somebody else wrote, which the server tells.
#[test]
fn a_leader_renews_without_reading() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "unread", "1h");
    let proxy = ApiProxy::start(cluster);
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let first = world.controller_at(&kubeconfig, "first", &SHORT);
    await_leader(&first);
    let asked = |method: &str| {
        let requests = proxy.requests().into_iter();
        let of_lease = |path: &str| path.contains("/leases/") && path.contains(LEASES[0]);
        requests
            .filter(|one| one.method == method && of_lease(&one.path))
            .count()
    };
    until("it is renewed", || asked("PATCH") >= 9);
    // To acquire it, and to begin to keep it.
    assert!(asked("GET") <= 2, "{}", asked("GET"));
}

/// A concurrent write to the lease during its renewal does not end the leadership.
#[test]
fn a_conflict_does_not_cost_the_lease() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "contested", "1h");
    let proxy = ApiProxy::start(cluster);
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let first = world.controller_at(&kubeconfig, "first", &SHORT);
    await_leader(&first);
    let once = AtomicBool::new(true);
    let path = world.path(LEASE, LEASES[0]);
    let refused = Arc::new(AtomicBool::new(false));
    let telling = Arc::clone(&refused);
    proxy.intercept(move |request| {
        let ours = request.method == "PATCH" && request.path.ends_with(LEASES[0]);
        if ours && once.swap(false, Ordering::SeqCst) {
            cluster.merge_patch(&path, &json!({"metadata": {"labels": {"rival": "true"}}}));
            telling.store(true, Ordering::SeqCst);
        }
        None
    });
    until("the conflict happens", || refused.load(Ordering::SeqCst));
    let renewed = lease(&world, LEASES[0])["renewTime"].clone();
    until("the lease is renewed", || {
        lease(&world, LEASES[0])["renewTime"] != renewed
    });
    assert!(first.is_running() && leads(&first));
}

/// The server takes the commit, and its answer never comes; the leader loses its lease meanwhile.
#[test]
fn a_push_that_was_taken_is_not_made_again_by_the_next_leader() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "taken", "1h");
    let (first, second) = two(&world, &SHORT);
    world.settled();
    let once = AtomicBool::new(true);
    world.git.intercept(move |seen| {
        let push = seen.is_push();
        (push && once.swap(false, Ordering::SeqCst)).then_some(Fault::StallAfter(1))
    });
    bump(&world, "1.1.0", 2);
    first.signal("STOP");
    await_leader(&second);
    first.signal("CONT");
    assert_eq!(first.ended(), Some(2), "it does not wait for an answer");
    let revision = format!("main@sha1:{}", world.repo.rev("main").unwrap());
    until("the next leader has seen the commit", || {
        let status = world.get(AUTOMATION, "app")["status"].clone();
        status["observedSourceRevision"] == revision && status["observedPolicies"]["app"]["tag"] == "1.1.0"
    });
    world.committed("1.1.0", 2);
    bump(&world, "1.2.0", 3);
}

/// The commit lies at the server, not yet taken; the next leader is faster, and the late one finds its place taken.
#[test]
fn a_push_that_comes_late_changes_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "late", "1h");
    let (first, second) = two(&world, &SHORT);
    world.settled();
    let (held, arrived) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let finished = Arc::new(AtomicBool::new(false));
    let (holding, arriving, finishing) = (Arc::clone(&held), Arc::clone(&arrived), Arc::clone(&finished));
    let once = AtomicBool::new(true);
    world.git.intercept(move |seen| {
        let push = seen.is_push() && seen.body.len() > 4;
        if push && once.swap(false, Ordering::SeqCst) {
            arriving.store(true, Ordering::SeqCst);
            while holding.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            finishing.store(true, Ordering::SeqCst);
        }
        None
    });
    world.release("1.1.0");
    until("the push arrives", || arrived.load(Ordering::SeqCst));
    first.signal("STOP");
    await_leader(&second);
    world.committed("1.1.0", 2);
    held.store(false, Ordering::SeqCst);
    first.signal("CONT");
    assert_eq!(first.ended(), Some(2));
    until("the late push is dealt with", || finished.load(Ordering::SeqCst));
    bump(&world, "1.2.0", 3);
}
