//! Kustomizations that wait for others, and for artifacts: whoever waits is woken. All pauses are an hour, so that
//! nothing else wakes them.

use std::net::TcpListener;

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{GIT_REPOSITORY, KUSTOMIZATION, condition_of};

fn controller(world: &KustomizeWorld<'_>, flags: &[&str]) -> Controller {
    let starter = world
        .starter("controller")
        .flags(&["--controllers=kustomize", "--requeue-dependency=1h"]);
    starter.flags(flags).start()
}

/// Each revision comes to both at once: now the one is found not ready, and now its readiness comes while the
/// other is in work.
#[test]
fn a_dependent_is_woken_by_whatever_it_waits_for() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "woken");
    let _controller = controller(&world, &[]);
    world.publish("app", "0", &[("a.yaml", &map("a", "0"))]);
    let source = json!({"kind": "GitRepository", "name": "app"});
    world.kustomize("early", json!({"namePrefix": "early-", "sourceRef": source}));
    let names: Vec<String> = (0..6).map(|n| format!("late{n}")).collect();
    for name in &names {
        let spec = json!({"namePrefix": format!("{name}-"), "dependsOn": [{"name": "early"}],
            "sourceRef": source});
        world.kustomize(name, spec);
    }
    for revision in 1..12 {
        let revision = revision.to_string();
        world.publish("app", &revision, &[("a.yaml", &map("a", &revision))]);
        world.applied("early", &revision);
        names.iter().for_each(|name| world.applied(name, &revision));
    }
}

/// The artifact is out of reach for a moment: who is ready stays so, and who is not gets it as soon as it is back.
#[test]
fn an_artifact_that_is_gone_for_a_moment_is_waited_for() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "moment");
    let controller = controller(&world, &["--http-retry=1"]);
    world.publish("app", "1", &[("a.yaml", &map("a", "1"))]);
    world.kustomize("app", json!({"interval": "1s"}));
    world.applied("app", "1");
    let artifact = world.get(GIT_REPOSITORY, "app")["status"]["artifact"].clone();
    let mut gone = artifact.clone();
    gone["url"] = json!(format!("{}.gone", artifact["url"].as_str().unwrap()));
    gone["digest"] = json!(format!("sha256:{}", "0".repeat(64)));
    world.patch_status(GIT_REPOSITORY, "app", &json!({"artifact": gone}));
    told(
        &controller,
        "ready as before, though Source is not ready, artifact not found",
    );
    let app = world.get(KUSTOMIZATION, "app");
    assert_eq!(condition_of(&app, "Ready").unwrap()["status"], "True", "{app:#}");
    world.kustomize(
        "new",
        json!({"namePrefix": "new-", "sourceRef": {"kind": "GitRepository", "name": "app"}}),
    );
    let why = world.refused("new", "ArtifactFailed");
    assert!(why.starts_with("Source is not ready, artifact not found"), "{why}");
    // Of the same revision, at another place.
    world.patch_status(GIT_REPOSITORY, "app", &json!({"artifact": artifact}));
    world.applied("new", "1");
}

/// An artifact at the address of a paused process: its connections are made by the kernel, and nobody answers.
fn paused(world: &KustomizeWorld<'_>, source: &str) -> (Json, TcpListener) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut artifact = world.get(GIT_REPOSITORY, source)["status"]["artifact"].clone();
    artifact["url"] = json!(format!("http://{}/1.tar.gz", listener.local_addr().unwrap()));
    (artifact, listener)
}

/// A process that serves a source is paused, and another one takes the source over: first it has lost the artifact, or
/// it has it at once.
#[test]
fn a_download_from_a_paused_process_goes_on_at_the_next_one() {
    let Some(cluster) = Cluster::shared() else { return };
    for is_lost in [false, true] {
        let world = KustomizeWorld::new(cluster, &format!("paused-{is_lost}"));
        let _controller = controller(&world, &[]);
        world.publish("app", "1", &[("a.yaml", &map("a", "1"))]);
        let artifact = world.get(GIT_REPOSITORY, "app")["status"]["artifact"].clone();
        let (of_paused, listener) = paused(&world, "app");
        world.patch_status(GIT_REPOSITORY, "app", &json!({"artifact": of_paused}));
        // More than there are workers.
        let names: Vec<String> = (0..8).map(|n| format!("app{n}")).collect();
        for name in &names {
            let source = json!({"kind": "GitRepository", "name": "app"});
            let spec = json!({"namePrefix": format!("{name}-"), "retryInterval": "1h", "sourceRef": source});
            world.kustomize(name, spec);
        }
        let _connection = listener.accept().unwrap();
        if is_lost {
            world.patch_status(GIT_REPOSITORY, "app", &json!({"artifact": null}));
        }
        world.patch_status(GIT_REPOSITORY, "app", &json!({"artifact": artifact}));
        names.iter().for_each(|name| world.applied(name, "1"));
    }
}

/// Nobody takes over. Others of the namespace, which has no more reconciliations than there are workers, do
/// not wait for long.
#[test]
fn a_server_of_artifacts_that_is_silent_holds_up_nobody_for_long() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "silent");
    let _controller = controller(&world, &[]);
    for source in ["app", "other"] {
        world.publish(source, "1", &[("a.yaml", &map("a", "1"))]);
    }
    let (of_paused, listener) = paused(&world, "app");
    world.patch_status(GIT_REPOSITORY, "app", &json!({"artifact": of_paused}));
    for number in 0..8 {
        let source = json!({"kind": "GitRepository", "name": "app"});
        let spec = json!({"namePrefix": format!("app{number}-"), "retryInterval": "1h", "sourceRef": source});
        world.kustomize(&format!("app{number}"), spec);
    }
    let _connection = listener.accept().unwrap();
    world.kustomize("other", json!({}));
    world.applied("other", "1");
    let why = world.refused("app0", "ArtifactFailed");
    assert!(why.contains("the server has sent nothing for 10s"), "{why}");
}

fn told(controller: &Controller, words: &str) {
    wait_for(|| controller.log().contains(words), || controller.log());
}

/// An expression may look at anything of a dependency, which need not be ready for that.
#[test]
fn a_dependent_by_an_expression_is_woken_by_any_change() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "expression");
    let _controller = controller(&world, &[]);
    world.publish("app", "1", &[("a.yaml", &map("a", "1"))]);
    let source = json!({"kind": "GitRepository", "name": "app"});
    world.kustomize("early", json!({"namePrefix": "early-", "sourceRef": source}));
    world.applied("early", "1");
    let expression = "has(dep.metadata.labels) && 'go' in dep.metadata.labels";
    let depends = json!([{"name": "early", "readyExpr": expression}]);
    world.kustomize(
        "late",
        json!({"namePrefix": "late-", "dependsOn": depends, "sourceRef": source}),
    );
    let why = world.refused("late", "DependencyNotReady");
    assert!(why.contains("is not ready according to readyExpr eval"), "{why}");
    world.patch(KUSTOMIZATION, "early", &json!({"metadata": {"labels": {"go": "yes"}}}));
    world.applied("late", "1");
}
