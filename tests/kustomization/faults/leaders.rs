//! Two controllers and one lease: the first one stops in the middle of an apply, and the other continues.

use serde_json::json;

use super::hold::Hold;
use super::{is_whole, nothing_is_lost, publish};
use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::KustomizeWorld;
use bumpwright_testkit::waiting::{until, wait_for};

const LEASE: &str = "kustomize-controller-leader-election";

/// A lease that is over soon, and that a process keeps which has to wait for its turn on a busy machine.
const SHORT: [&str; 4] = [
    "--enable-leader-election",
    "--leader-election-lease-duration=10s",
    "--leader-election-renew-deadline=8s",
    "--leader-election-retry-period=300ms",
];

/// The first one leads and is in the middle of revision 1; the second waits.
struct Two<'a> {
    first: Controller,
    second: Controller,
    world: KustomizeWorld<'a>,
    hold: Hold,
    proxy: ApiProxy,
}

impl<'a> Two<'a> {
    fn start(cluster: &'a Cluster, namespace: &str) -> Self {
        let world = KustomizeWorld::new(cluster, namespace);
        let proxy = ApiProxy::start(cluster);
        let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
        let first = world.controller_through(&kubeconfig, "first", &SHORT);
        until("the first one leads", || first.leads(LEASE));
        let second = world.controller_through(&cluster.kubeconfig(), "second", &SHORT);
        publish(&world, 0);
        world.kustomize("app", json!({}));
        is_whole(&world, 0);
        let hold = Hold::at(&proxy, "/configmaps/", 10);
        publish(&world, 1);
        hold.reached(&first);
        assert!(!second.leads(LEASE));
        Self {
            first,
            second,
            world,
            hold,
            proxy,
        }
    }
}

#[test]
fn another_leader_goes_on_where_one_was_killed() {
    let Some(cluster) = Cluster::shared() else { return };
    let two = Two::start(cluster, "leader-killed");
    two.first.kill();
    two.hold.release();
    until("the second one leads", || two.second.leads(LEASE));
    is_whole(&two.world, 1);
}

/// The one that wakes up has more to write of what was the newest revision when it fell asleep. Nothing of it is
/// written, or objects would come back that no inventory knows.
#[test]
fn a_leader_that_wakes_up_writes_nothing_more() {
    let Some(cluster) = Cluster::shared() else { return };
    let two = Two::start(cluster, "leader-paused");
    two.first.signal("STOP");
    // What is on its way arrives.
    two.hold.release();
    nothing_is_lost(&two.world);
    publish(&two.world, 2);
    until("the second one leads", || two.second.leads(LEASE));
    is_whole(&two.world, 2);
    let versions = || {
        let maps = two.world.list(bumpwright_testkit::world::CONFIG_MAP);
        let version = |map: &serde_json::Value| map["metadata"]["resourceVersion"].clone();
        maps.iter().map(version).collect::<Vec<_>>()
    };
    let before = versions();
    two.proxy.clear();
    two.first.signal("CONT");
    wait_for(|| !two.first.is_running(), || two.first.log());
    assert_eq!(two.first.ended(), Some(2));
    assert!(two.first.log().contains("leader election lost"), "{}", two.first.log());
    let sent = two.proxy.requests();
    let written = sent
        .iter()
        .find(|request| request.method != "GET" && !request.path.contains("/leases/"));
    assert!(written.is_none(), "{written:?}");
    assert_eq!(versions(), before);
    is_whole(&two.world, 2);
}
