//! What many automations cost that follow their commits, while nothing changes.

use std::time::Duration;

use super::kustomization;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until_within;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION, World, automation, git_repository};
use serde_json::json;

const REPOSITORIES: usize = 10;
const AUTOMATIONS: usize = 1000;
const PERIOD: Duration = Duration::from_secs(60);

fn sum(controller: &Controller, metric: &str) -> f64 {
    let page = controller.metrics();
    let lines = page.lines().filter(|line| line.starts_with(metric));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

/// The runs, the requests to the API server and to Git within a fixed time, and the memory in KiB after it.
fn at_rest(controller: &Controller) -> [f64; 4] {
    let look = || {
        [
            "gotk_reconcile_duration_seconds_count{kind=\"ImageUpdateAutomation\"",
            "rest_client_requests_total",
            "bumpwright_git_requests_total",
        ]
        .map(|metric| sum(controller, metric))
    };
    let before = look();
    std::thread::sleep(PERIOD);
    let after = look();
    let [runs, api, git] = std::array::from_fn(|n| after[n] - before[n]);
    #[allow(clippy::cast_precision_loss)]
    let memory = controller.memory("RssAnon") as f64;
    [runs, api, git, memory]
}

/// Prints figures; run it with `--ignored --nocapture`.
#[test]
#[ignore = "takes minutes, and prints figures"]
fn a_thousand_automations_that_follow() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "rollout-cost");
    add_choice(&world, "web", "1.0.0");
    for n in 0..REPOSITORIES {
        let name = format!("repo{n}");
        let repo = world.repository(&format!("{name}.git"));
        let file = "image: ghcr.io/o/web:1.0.0 # {\"$imagepolicy\": \"rollout-cost:web\"}\n";
        repo.commit("main", "first", &[Change::File("apps/web.yaml", file.as_bytes())]);
        world.add(
            GIT_REPOSITORY,
            &name,
            git_repository(&world.git.url(&format!("{name}.git"))),
        );
        world.add(KUSTOMIZATION, &name, kustomization("rollout-cost", "./apps"));
    }
    for n in 0..AUTOMATIONS {
        let mut spec = automation(&format!("repo{}", n % REPOSITORIES));
        spec["interval"] = json!("60s");
        world.add(AUTOMATION, &format!("auto{n}"), spec);
    }
    let controller = world.controller(&["--controllers=image-automation", "--concurrent=4"]);
    let all_run = |controller: &Controller, times: f64| {
        let runs = "gotk_reconcile_duration_seconds_count{kind=\"ImageUpdateAutomation\"";
        let before = sum(controller, runs);
        until_within(Duration::from_secs(600), "all have run", || {
            #[allow(clippy::cast_precision_loss)]
            let wanted = before + times * AUTOMATIONS as f64;
            sum(controller, runs) >= wanted
        });
    };
    all_run(&controller, 2.0);
    println!(
        "without: runs, requests to the API, to Git, KiB: {:?}",
        at_rest(&controller)
    );
    let follower = json!({"good": "b".repeat(40), "applied": 1, "healthy": 2,
        "workloads": {"Deployment/rollout-cost/web": ["rollout-cost/web"]}});
    let record = json!({
        "commits": [{"commit": "c".repeat(40), "base": "b".repeat(40), "branch": "main", "at": 1,
            "images": {"rollout-cost/web": "ghcr.io/o/web:1.0.0"}, "appeared": 1}],
        "fetched": 1, "arrived": true, "followers": {"rollout-cost/repo0": follower}, "closed": 2,
    });
    let annotations =
        json!({"bumpwright.dev/on-failure": "revert", "state.bumpwright.dev/rollout": record.to_string()});
    for n in 0..AUTOMATIONS {
        let patch = json!({"metadata": {"annotations": annotations}});
        world.patch(AUTOMATION, &format!("auto{n}"), &patch);
    }
    all_run(&controller, 2.0);
    println!(
        "with: runs, requests to the API, to Git, KiB: {:?}",
        at_rest(&controller)
    );
    // Changes of a Kustomization, which all automations are asked about.
    let busy = |changes: usize| {
        let before = controller.cpu();
        for n in 0..changes {
            let ready = json!({"type": "Ready", "status": if n % 2 == 0 { "True" } else { "False" }, "reason": "X",
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
            world.patch_status(KUSTOMIZATION, "repo0", &json!({"conditions": [ready]}));
        }
        std::thread::sleep(Duration::from_secs(2));
        controller.cpu() - before
    };
    println!("CPU time for 0 and 1000 changes: {:?} and {:?}", busy(0), busy(1000));
}
