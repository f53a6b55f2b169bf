//! A process that takes over sources and Kustomizations at once, with an empty folder and at another address
//! than the one before.

use serde_json::json;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, ELECTION};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{EVENT, GIT_REPOSITORY, KUSTOMIZATION, World, git_repository};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn start(world: &World<'_>, folder: &str) -> Controller {
    let address = format!("127.0.0.1:{}", free_port());
    let addresses = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
    let starter = world
        .starter(folder)
        .flags(&["--controllers=source,kustomize", "--http-retry=0"]);
    starter.flags(&addresses).flags(&ELECTION).start()
}

/// Also a Kustomization that somebody has asked for, and one that was not ready, which have no grace.
#[test]
fn kustomizations_wait_for_the_first_round_of_their_sources() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "takes-over");
    let first = start(&world, "first");
    for name in NAMES {
        let repo = world.repository(&format!("{name}.git"));
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}}).to_string();
        repo.commit("main", "first", &[Change::File("map.yaml", map.as_bytes())]);
        let url = world.git.url(&format!("{name}.git"));
        world.add(GIT_REPOSITORY, name, git_repository(&url));
        let spec = json!({"interval": "1h", "prune": true, "targetNamespace": world.namespace,
            "sourceRef": {"kind": "GitRepository", "name": name}});
        world.add(KUSTOMIZATION, name, spec);
    }
    for name in NAMES {
        world.ready(KUSTOMIZATION, name, "True", |_, _| true);
    }
    let failed = |controller: &Controller| {
        let events = world.list(EVENT).into_iter();
        let failures = events.filter(|event| event["reason"] == "ArtifactFailed").count();
        (failures, controller.log().matches("ready as before").count())
    };
    let before = failed(&first).0;
    first.stop();
    for name in NAMES {
        world.request(KUSTOMIZATION, name, "taken over");
    }
    let second = start(&world, "second");
    for name in NAMES {
        let is_handled = || {
            let status = &world.get(KUSTOMIZATION, name)["status"];
            assert!(
                status["conditions"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .all(|one| one["reason"] != "ArtifactFailed"),
                "{status:#}"
            );
            status["lastHandledReconcileAt"] == "taken over"
        };
        wait_for(is_handled, || format!("{name}\n{}", second.log()));
        world.ready(KUSTOMIZATION, name, "True", |_, _| true);
    }
    assert_eq!(failed(&second), (before, 0), "{}", second.log());
}
