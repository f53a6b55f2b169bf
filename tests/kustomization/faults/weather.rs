//! Unreliable API servers: watches break, answers are slow or leave open whether a write took effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use super::{Stopped, begun, is_whole, nothing_is_lost, publish};
use bumpwright_testkit::api_proxy::is_watch;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::kustomize_world::KustomizeWorld;
use bumpwright_testkit::reply::Reply;

/// All watches are lost in the middle of an apply, and with them the word of the next revision.
#[test]
fn watches_that_break_off_mid_apply_lose_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let stopped = Stopped::start(cluster, "cut");
    let watches = stopped.proxy.watches("kustomizations");
    stopped.proxy.cut_watches();
    publish(&stopped.world, 2);
    stopped.hold.release();
    is_whole(&stopped.world, 2);
    bumpwright_testkit::waiting::until("they begin again", || stopped.proxy.watches("kustomizations") > watches);
    publish(&stopped.world, 3);
    is_whole(&stopped.world, 3);
}

#[test]
fn a_slow_api_server_is_waited_for() {
    let Some(cluster) = Cluster::shared() else { return };
    let (world, proxy, _controller) = begun(cluster, "slow");
    proxy.intercept(|request| {
        if !is_watch(request) {
            sleep(Duration::from_millis(100));
        }
        None
    });
    publish(&world, 1);
    is_whole(&world, 1);
    nothing_is_lost(&world);
}

fn is_write(request: &Request) -> bool {
    let is_dry = request.parameter("dryRun").is_some();
    matches!(request.method.as_str(), "PATCH" | "DELETE") && !is_dry && !request.path.contains("/leases/")
}

/// As an API server answers whose etcd does not.
fn timed_out() -> Reply {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "InternalError",
        "message": "etcdserver: request timed out", "code": 500,
    });
    Reply::bytes(500, "application/json", status.to_string())
}

/// As [`nothing_is_lost`], while an apply is under way: what is there was in the inventory before, or is now.
fn nothing_is_ever_lost(world: &KustomizeWorld<'_>) {
    let (before, maps, after) = (world.inventory("app"), world.maps(), world.inventory("app"));
    for name in maps {
        let id = format!("{}_{name}__ConfigMap", world.namespace);
        assert!(before.contains(&id) || after.contains(&id), "{id} is not in {after:#?}");
    }
}

/// Of each five writes one is answered with a failure although it was done, and one was not done: objects, statuses and
/// deletions alike. A look finds no object that the inventory does not know.
#[test]
fn an_etcd_that_times_out_leaves_nothing_behind() {
    let Some(cluster) = Cluster::shared() else { return };
    let (world, proxy, controller) = begun(cluster, "etcd");
    let (writes, failures) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let failed = Arc::clone(&failures);
    proxy.intercept(move |request| {
        let number = if is_write(request) {
            writes.fetch_add(1, Ordering::SeqCst)
        } else {
            0
        };
        // Only so often: an apply in which each fifth write fails would never get to its end.
        if number % 5 > 1 || !is_write(request) || failed.load(Ordering::SeqCst) >= 12 {
            return None;
        }
        failed.fetch_add(1, Ordering::SeqCst);
        if number % 5 == 1 {
            let kind = request.header("content-type").unwrap_or_default();
            let body = String::from_utf8(request.body.clone()).unwrap();
            cluster.request(&request.method, &request.target, kind, &body);
        }
        Some(timed_out())
    });
    for revision in 1..4 {
        publish(&world, revision);
        let wanted = bumpwright_testkit::kustomize_world::revision(&revision.to_string());
        let is_applied = || {
            nothing_is_ever_lost(&world);
            let object = world.get(bumpwright_testkit::world::KUSTOMIZATION, "app");
            object["status"]["lastAppliedRevision"] == wanted
        };
        bumpwright_testkit::waiting::wait_for(is_applied, || controller.log());
        is_whole(&world, revision);
    }
    assert_eq!(failures.load(Ordering::SeqCst), 12);
    assert!(!controller.log().contains("panicked"));
}

/// The last write of a status is done, and answered with a failure: it is written again, and nothing is reconciled
/// again for that (K-206).
#[test]
fn a_status_that_was_written_all_the_same_is_no_other_reconciliation() {
    let Some(cluster) = Cluster::shared() else { return };
    let (world, proxy, controller) = begun(cluster, "lost-answer");
    let failures = Arc::new(AtomicUsize::new(0));
    let failed = Arc::clone(&failures);
    proxy.intercept(move |request| {
        let body = String::from_utf8_lossy(&request.body);
        let is_last = request.path.ends_with("/kustomizations/app/status") && body.contains("ReconciliationSucceeded");
        if request.method != "PATCH" || !is_last || failed.fetch_add(1, Ordering::SeqCst) > 0 {
            return None;
        }
        let kind = request.header("content-type").unwrap_or_default();
        cluster.request(&request.method, &request.target, kind, &body);
        Some(timed_out())
    });
    publish(&world, 1);
    is_whole(&world, 1);
    let count = || {
        let object = world.get(bumpwright_testkit::world::KUSTOMIZATION, "app");
        object["status"]["history"][0]["totalReconciliations"].clone()
    };
    let written_again = || failures.load(Ordering::SeqCst) > 1;
    bumpwright_testkit::waiting::wait_for(written_again, || controller.log());
    // Another reconciliation would come after the shortest pause of the retry policy, 750 ms.
    sleep(Duration::from_secs(2));
    assert_eq!(count(), 1, "{}", controller.log());
    assert!(!controller.log().contains("Reconciler error"), "{}", controller.log());
}
