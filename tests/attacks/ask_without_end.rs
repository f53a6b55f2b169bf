//! Many requests to the API server in the name of one tenant, where these have a rate (`--kube-api-qps`).

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::siege::{OUTSIDE, siege};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::world::{KUSTOMIZATION, World};

/// Requests of a second.
const RATE: usize = 20;

/// The longest time that a neighbour's change takes, with a dozen requests: by itself it takes less than a second.
const LONGEST: Duration = Duration::from_secs(5);

fn world(cluster: &'static Cluster, namespace: &str) -> KustomizeWorld<'static> {
    let world = World::new(cluster, namespace).labelled("siege", OUTSIDE);
    KustomizeWorld::of(world.labelled("asks", "true"))
}

/// With one line for all, each request of a neighbour waits for the 32 that four Kustomizations with checks
/// send at a time.
#[test]
fn thousands_of_health_checks() {
    let Some(siege) = siege() else { return };
    let (greedy, modest) = (
        world(siege.cluster, "mallory-asks"),
        world(siege.cluster, "modest-asks"),
    );
    let flags = [
        "--controllers=kustomize".to_owned(),
        format!("--watch-label-selector=siege={OUTSIDE},asks=true"),
        format!("--kube-api-qps={RATE}"),
        "--kube-api-burst=1".to_owned(),
    ];
    let folder = greedy.folder_of("controller");
    let starter = Controller::ours(&siege.cluster.kubeconfig(), &greedy.namespace, &folder);
    let controller = starter.flags(&flags).start();
    let check = |number: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": format!("none-{number}"), "namespace": "mallory-asks"});
    let checks: Vec<Json> = (0..5_000).map(check).collect();
    greedy.publish("app", "1", &[("map.yaml", &map("one", "1"))]);
    for number in 0..4 {
        let source = json!({"kind": "GitRepository", "name": "app"});
        let spec = json!({"sourceRef": source, "healthChecks": checks, "timeout": "1h", "path": "./"});
        greedy.kustomize(&format!("asks-{number}"), spec);
    }
    for number in 0..4 {
        greedy.condition(
            KUSTOMIZATION,
            &format!("asks-{number}"),
            "Healthy",
            "Unknown",
            |_, message| message.contains("Running health checks"),
        );
    }
    modest.publish("app", "1", &[("map.yaml", &map("one", "1"))]);
    modest.kustomize("app", json!({}));
    modest.applied("app", "1");
    for revision in ["2", "3", "4"] {
        let began = Instant::now();
        modest.publish("app", revision, &[("map.yaml", &map("one", revision))]);
        modest.applied("app", revision);
        let took = began.elapsed();
        println!("a neighbour's change: {} ms", took.as_millis());
        assert!(took < LONGEST, "a neighbour's change has taken {} ms", took.as_millis());
    }
    for number in 0..4 {
        greedy.delete(KUSTOMIZATION, &format!("asks-{number}"));
    }
    controller.stop();
    siege.stands();
}
