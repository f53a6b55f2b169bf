//! From a chosen tag to a healthy Kustomization, and back by itself when it is not.

use super::{Applier, Fleet, deployment, until_commits};
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, EVENT, IMAGE_POLICY, IMAGE_REPOSITORY, newest};
use serde_json::json;

const FAILED: &str = "state.bumpwright.dev/failed-versions";

fn story(namespace: &str, applier: Applier) {
    let annotations = json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "2s"});
    let Some(fleet) = Fleet::start(namespace, applier, &annotations) else {
        return;
    };
    let world = &fleet.world;
    fleet.choose("web", "1.1.0");
    fleet.in_git("web", "1.1.0");
    let told = fleet.rolled_out("True", "is healthy in 1 Kustomization");
    assert!(told.contains(&format!("{namespace}/apps: healthy after ")), "{told}");
    fleet.nodes.break_image("ghcr.io/o/web:1.2.0");
    fleet.choose("web", "1.2.0");
    let told = fleet.rolled_out("False", "put back by commit");
    assert!(told.contains(&format!("Deployment/{namespace}/web")), "{told}");
    assert_eq!(fleet.tag("web"), "1.1.0");
    let held = world.get(IMAGE_POLICY, "web")["metadata"]["annotations"][FAILED].clone();
    assert!(held.as_str().unwrap().contains("\"1.2.0\""), "{held}");
    world.ready(AUTOMATION, "all", "True", |_, message| {
        message.contains("holds ghcr.io/o/web:1.2.0, since it failed in Kustomization")
    });
    fleet.healthy();
    until_commits(&fleet, 4);
    let newest = &fleet.repo.log("main")[0];
    let bad = &fleet.repo.log("main")[1];
    for part in [
        "Put back images that failed\n\n- ghcr.io/o/web:1.2.0 -> ghcr.io/o/web:1.1.0\n".to_owned(),
        format!("Reverted-Commit: {}\n", bad.id),
        format!("Failed-Kustomization: {namespace}/apps\n"),
        format!("Failed-Object: Deployment/{namespace}/web\n"),
        "Failure: ".to_owned(),
    ] {
        assert!(newest.message.contains(&part), "{part}: {}", newest.message);
    }
    let good = fleet.repo.rev("main~2").unwrap();
    assert_eq!(fleet.repo.tree("main"), fleet.repo.tree(&good), "byte for byte");
    fleet.choose("web", "1.2.1");
    fleet.in_git("web", "1.2.1");
    fleet.rolled_out("True", "is healthy in 1 Kustomization");
    until_commits(&fleet, 5);
    let told = |reason: &str| {
        let events = world.list(EVENT);
        events
            .iter()
            .any(|event| event["reason"] == reason && event["involvedObject"]["name"] == "all")
    };
    until("events tell", || told("RolloutSucceeded") && told("RolloutFailed"));
    let ours = fleet.ours.as_ref().unwrap();
    for stage in ["fetched", "applied", "healthy"] {
        let series = format!("bumpwright_rollout_seconds_count{{stage=\"{stage}\"}}");
        assert!(ours.metric(&series).is_some_and(|count| count >= 2.0), "{series}");
    }
    assert!(
        ours.metric("bumpwright_rollout_lead_seconds_count")
            .is_some_and(|count| count >= 2.0)
    );
}

#[test]
fn a_failing_image_is_put_back_and_held_until_there_is_a_newer_one() {
    story("rollout-ours", Applier::Ours);
}

#[test]
fn so_it_is_beside_the_kustomize_controller_of_flux() {
    story("rollout-flux", Applier::Flux);
}

#[test]
fn from_a_tag_in_a_registry_to_a_healthy_workload() {
    let Some(registry) = Registry::start() else { return };
    registry.images().tags("o/web", &["1.0.0"]);
    let image = format!("{}/o/web", registry.host());
    let annotations = json!({"bumpwright.dev/follow": "true"});
    let Some(mut fleet) = Fleet::start("rollout-registry", Applier::Ours, &annotations) else {
        return;
    };
    let world = &fleet.world;
    let web = deployment("rollout-registry", "web", "1.0.0").replace("ghcr.io/o/web", &image);
    fleet
        .repo
        .commit("main", "registry", &[Change::File("apps/web.yaml", web.as_bytes())]);
    fleet.healthy();
    let scanned = json!({"image": image, "interval": "1s", "insecure": true});
    world.add(IMAGE_REPOSITORY, "web", scanned);
    world.add(IMAGE_POLICY, "web", newest("web"));
    world.delete(IMAGE_POLICY, "api");
    fleet.ours.take().unwrap().kill();
    let all = "--controllers=source,kustomize,image-automation,image-reflector";
    let starter = fleet.world.starter("ours").flags(&[all, "--requeue-dependency=1s"]);
    fleet.ours = Some(starter.flags(&fleet.served).start());
    let world = &fleet.world;
    until("1.0.0 is chosen", || {
        world.get(IMAGE_POLICY, "web")["status"]["latestRef"]["name"] == json!(image)
    });
    registry.images().tags("o/web", &["1.1.0"]);
    fleet.in_git("web", "1.1.0");
    let tip = fleet.repo.rev("main").unwrap();
    fleet.rolled_out(
        "True",
        &format!("commit '{}' on branch 'main' is healthy in 1 Kustomization", &tip[..7]),
    );
    let ours = fleet.ours.as_ref().unwrap();
    let lead = |what: &str| ours.metric(&format!("bumpwright_rollout_lead_seconds_{what}"));
    assert!(lead("count").is_some_and(|count| count >= 1.0));
    assert!(lead("sum").is_some_and(|seconds| seconds < 120.0));
}
