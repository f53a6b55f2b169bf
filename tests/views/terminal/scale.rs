//! What a look at a large fleet costs.

use super::run;
use crate::seed::{DAY, FIRST, ready};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::world::{AUTOMATION, IMAGE_POLICY, KUSTOMIZATION, World, automation, newest};
use serde_json::{Value as Json, json};
use std::time::Instant;

/// Prints figures; run it with `--ignored --nocapture`.
#[test]
#[ignore = "takes a minute, and prints figures"]
fn five_hundred_of_each() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.define();
    let world = World::new(&cluster, "flux-system");
    let choice = |name: &str| json!({"name": format!("ghcr.io/acme/{name}"), "tag": "1.0.0"});
    let observed: Json = (0..500).map(|n| (format!("p{n}"), choice(&format!("p{n}")))).collect();
    let well = |reason: &str| ready("True", reason, &format!("Applied revision: main@sha1:{FIRST}"), DAY);
    std::thread::scope(|scope| {
        for part in 0..8 {
            let (world, observed) = (&world, &observed);
            scope.spawn(move || {
                for n in (part..500).step_by(8) {
                    let name = format!("p{n}");
                    world.add(IMAGE_POLICY, &name, newest(&name));
                    let status = json!({"latestRef": choice(&name), "conditions": well("Succeeded"), "observedGeneration": 1});
                    world.patch_status(IMAGE_POLICY, &name, &status);
                    let spec = json!({"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
                    world.add(KUSTOMIZATION, &name, spec);
                    let ids = (0..50).map(|id| json!({"id": format!("apps_{name}-{id}_apps_Deployment"), "v": "v1"}));
                    let inventory = json!({"entries": ids.collect::<Vec<_>>()});
                    let status = json!({"inventory": inventory, "conditions": well("ReconciliationSucceeded"), "observedGeneration": 1});
                    world.patch_status(KUSTOMIZATION, &name, &status);
                    if n < 200 {
                        world.add(AUTOMATION, &name, automation("fleet"));
                        let status = json!({"observedPolicies": observed, "conditions": well("Succeeded"), "observedGeneration": 1});
                        world.patch_status(AUTOMATION, &name, &status);
                    }
                }
            });
        }
    });
    for arguments in [
        ["status"].as_slice(),
        &["get", "images"],
        &["trace", "deploy/p7-7", "-n", "apps"],
    ] {
        let begin = Instant::now();
        let ran = run(&cluster, arguments);
        println!(
            "{arguments:?}: {} ms, {} bytes",
            begin.elapsed().as_millis(),
            ran.out.len()
        );
        assert!(ran.code < 2, "{}", ran.err);
        let is_short = ran.out.contains("and 192 more automations: -o json");
        assert!(arguments[0] != "trace" || is_short, "{}", ran.out);
    }
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let (_, peak) = Bench::new().weighed(&["status", &kubeconfig]);
    println!("peak memory of status: {peak} KiB");
    assert!(peak < 80 << 10, "{peak} KiB");
}
