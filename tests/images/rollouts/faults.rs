//! What must not happen: failures that are not the images', put back twice, lost with a process, or pushed in a loop.

use super::{Applier, Fleet, deployment, kustomization, until_commits};
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, IMAGE_POLICY, KUSTOMIZATION};
use serde_json::{Value as Json, json};

const FAILED: &str = "state.bumpwright.dev/failed-versions";
const RECORD: &str = "state.bumpwright.dev/rollout";

fn revert() -> Json {
    json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "1s"})
}

fn held(fleet: &Fleet, policy: &str) -> String {
    let policy = fleet.world.get(IMAGE_POLICY, policy);
    policy["metadata"]["annotations"][FAILED]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_version_that_is_held_stays_so_until_it_is_released_and_is_put_back_once() {
    let Some(fleet) = Fleet::start("rollout-release", Applier::Ours, &revert()) else {
        return;
    };
    let image = "ghcr.io/o/web:1.1.0";
    fleet.nodes.break_image(image);
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("False", "put back by commit");
    until_commits(&fleet, 3);
    fleet.healthy();
    // The annotation; and, as it fails again, no second put back.
    fleet.world.patch(
        IMAGE_POLICY,
        "web",
        &json!({"metadata": {"annotations": {"bumpwright.dev/release": "1.1.0"}}}),
    );
    fleet.in_git("web", "1.1.0");
    fleet.rolled_out("False", "was put back before");
    until_commits(&fleet, 4);
    assert_eq!(fleet.tag("web"), "1.1.0");
    // The command, with the image mended.
    fleet.world.patch(
        IMAGE_POLICY,
        "web",
        &json!({"metadata": {"annotations": {"bumpwright.dev/release": null}}}),
    );
    until("it is held", || held(&fleet, "web").contains("1.1.0"));
    fleet.nodes.mend_image(image);
    let kubeconfig = fleet.world.cluster.kubeconfig();
    let release = |version: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bumpwright"));
        command.args(["policy", "--release", version, "rollout-release/web", "--kubeconfig"]);
        command.arg(&kubeconfig).output().unwrap()
    };
    let wrong = release("1.0.7");
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said.contains("does not hold 1.0.7: it holds 1.1.0"), "{said}");
    assert_eq!(release("1.1.0").status.code(), Some(0));
    assert_eq!(held(&fleet, "web"), "");
}

#[test]
fn what_others_changed_at_the_same_time_is_not_blamed_on_the_image() {
    let Some(fleet) = Fleet::start("rollout-mixed", Applier::Ours, &revert()) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    // The source sees both commits at once.
    fleet
        .world
        .patch(KUSTOMIZATION, "apps", &json!({"spec": {"suspend": true}}));
    fleet.choose("web", "1.1.0");
    fleet.in_git("web", "1.1.0");
    let api =
        deployment("rollout-mixed", "api", "1.0.0").replace("name: api\nspec", "name: api\n  labels: {a: b}\nspec");
    fleet
        .repo
        .commit("main", "person", &[Change::File("apps/api.yaml", api.as_bytes())]);
    fleet
        .world
        .patch(KUSTOMIZATION, "apps", &json!({"spec": {"suspend": false}}));
    let told = fleet.rolled_out("False", "other changes lie between");
    assert!(told.contains("reported only"), "{told}");
    assert_eq!(fleet.tag("web"), "1.1.0");
    assert_eq!((held(&fleet, "web").as_str(), fleet.commits()), ("", 3));
}

#[test]
fn a_field_that_a_person_has_changed_since_stays() {
    let annotations = json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "5s"});
    let Some(fleet) = Fleet::start("rollout-person", Applier::Ours, &annotations) else {
        return;
    };
    for name in ["web", "api"] {
        fleet.nodes.break_image(&format!("ghcr.io/o/{name}:1.1.0"));
    }
    // Both in one commit.
    fleet.world.patch(
        AUTOMATION,
        "all",
        &json!({"metadata": {"annotations": {"bumpwright.dev/settle": "2s"}}}),
    );
    fleet.choose("web", "1.1.0");
    fleet.choose("api", "1.1.0");
    fleet.in_git("api", "1.1.0");
    until_commits(&fleet, 2);
    until("the failure is seen", || {
        let record = fleet.world.get(AUTOMATION, "all");
        let record = record["metadata"]["annotations"][RECORD]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        record.contains("\"failing\":{")
    });
    // While nobody applies it, so that the failure stays that of our commit.
    let held = json!({"metadata": {"annotations": {"bumpwright.dev/hold": "by hand"}}});
    fleet.world.patch(IMAGE_POLICY, "api", &held);
    fleet
        .world
        .patch(KUSTOMIZATION, "apps", &json!({"spec": {"suspend": true}}));
    let api = deployment("rollout-person", "api", "0.9.9");
    fleet
        .repo
        .commit("main", "person", &[Change::File("apps/api.yaml", api.as_bytes())]);
    fleet.rolled_out("False", "put back by commit");
    assert_eq!(
        (fleet.tag("web").as_str(), fleet.tag("api").as_str()),
        ("1.0.0", "0.9.9")
    );
}

#[test]
fn bisect_puts_back_the_images_of_unhealthy_workloads_only() {
    let mut annotations = revert();
    annotations["bumpwright.dev/revert"] = json!("bisect");
    annotations["bumpwright.dev/settle"] = json!("2s");
    let message = "Take back {{ len .Changed.Changes }}";
    annotations["bumpwright.dev/revert-message"] = json!(message);
    let Some(fleet) = Fleet::start("rollout-bisect", Applier::Ours, &annotations) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    fleet.choose("api", "1.1.0");
    fleet.rolled_out("False", "put back by commit");
    until_commits(&fleet, 3);
    assert_eq!(
        (fleet.tag("web").as_str(), fleet.tag("api").as_str()),
        ("1.0.0", "1.1.0")
    );
    assert!(held(&fleet, "web").contains("1.1.0") && held(&fleet, "api").is_empty());
    let newest = &fleet.repo.log("main")[0].message;
    assert!(newest.starts_with("Take back 1\n\nReverted-Commit: "), "{newest}");
}

#[test]
fn a_cluster_that_loses_its_nodes_is_not_blamed_on_the_image() {
    let more = |world: &bumpwright_testkit::world::World<'_>| {
        for name in ["b", "c"] {
            let mut spec = kustomization("rollout-nodes", "./apps");
            // Of another source, so the automation's commits do not change it.
            spec["sourceRef"]["name"] = json!("other");
            world.add(KUSTOMIZATION, name, spec);
            let ready = json!({"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"});
            world.patch_status(
                KUSTOMIZATION,
                name,
                &json!({"observedGeneration": 1, "conditions": [ready]}),
            );
        }
    };
    let Some(fleet) = Fleet::start_with("rollout-nodes", Applier::Flux, &revert(), &more) else {
        return;
    };
    // Their source does not exist: unhealthy before, which does not count.
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("False", "put back by commit");
}

#[test]
fn a_build_that_fails_is_a_failure_too() {
    let Some(fleet) = Fleet::start("rollout-build", Applier::Ours, &revert()) else {
        return;
    };
    let folder =
        "resources:\n- web.yaml\n- api.yaml\n- ../parts/1.0.0 # {\"$imagepolicy\": \"rollout-build:web:tag\"}\n";
    let folder = folder.replace("- ../parts/1.0.0", "- 1.0.0");
    let map = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part}\n";
    fleet.repo.commit(
        "main",
        "folders",
        &[
            Change::File("apps/kustomization.yaml", folder.as_bytes()),
            Change::File("apps/1.0.0/kustomization.yaml", b"resources: [map.yaml]\n"),
            Change::File("apps/1.0.0/map.yaml", map),
        ],
    );
    fleet.healthy();
    fleet.choose("web", "1.1.0");
    let told = fleet.rolled_out("False", "put back by commit");
    assert!(told.contains("BuildFailed"), "{told}");
    until_commits(&fleet, 4);
    fleet.healthy();
}

#[test]
fn reports_only_unless_asked() {
    let annotations = json!({"bumpwright.dev/follow": "true", "bumpwright.dev/failure-after": "1s"});
    let Some(fleet) = Fleet::start("rollout-report", Applier::Ours, &annotations) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("False", "; reported");
    assert_eq!((held(&fleet, "web").as_str(), fleet.commits()), ("", 2));
    // Without the annotation there is no condition.
    let none = json!({"bumpwright.dev/follow": null, "bumpwright.dev/failure-after": null});
    fleet
        .world
        .patch(AUTOMATION, "all", &json!({"metadata": {"annotations": none}}));
    until("the condition is gone", || {
        let automation = fleet.world.get(AUTOMATION, "all");
        let has = bumpwright_testkit::world::condition_of(&automation, "RolledOut").is_some();
        !has && automation["metadata"]["annotations"].get(RECORD).is_none()
    });
}

/// Killed at any time between choice and end, many times.
#[test]
fn a_process_that_is_killed_loses_nothing_and_does_nothing_twice() {
    let Some(mut fleet) = Fleet::start("rollout-killed", Applier::Flux, &revert()) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    let mut pause = 40;
    // Longer each time, so that each step is interrupted once and done at last.
    while fleet.world.get(AUTOMATION, "all")["status"]["conditions"]
        .as_array()
        .is_none_or(|all| {
            !all.iter()
                .any(|one| one["type"] == "RolledOut" && one["status"] == "False")
        })
    {
        std::thread::sleep(std::time::Duration::from_millis(pause));
        fleet.ours.take().unwrap().kill();
        fleet.start_ours();
        pause += pause / 3;
        assert!(pause < 60_000, "{:#}", fleet.world.get(AUTOMATION, "all"));
    }
    fleet.in_git("web", "1.0.0");
    fleet.healthy();
    assert_eq!(fleet.commits(), 3);
    assert!(held(&fleet, "web").contains("1.1.0"));
    fleet.choose("web", "1.1.1");
    fleet.rolled_out("True", "is healthy");
    assert_eq!(fleet.commits(), 4);
}

/// A broken and a mended tag, in turns.
#[test]
fn nothing_is_pushed_in_a_loop() {
    let Some(fleet) = Fleet::start("rollout-loop", Applier::Ours, &revert()) else {
        return;
    };
    let rounds: usize = std::env::var("ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2);
    for round in 1..=rounds {
        let broken = format!("1.{round}.0");
        fleet.nodes.break_image(&format!("ghcr.io/o/web:{broken}"));
        fleet.choose("web", &broken);
        until_commits(&fleet, 3 * round);
        fleet.rolled_out("False", "put back by commit");
        // What is held is chosen again, and again.
        fleet.choose("web", &fleet.tag("web"));
        fleet.choose("web", &broken);
        fleet.choose("web", &format!("1.{round}.1"));
        fleet.rolled_out("True", "is healthy");
        assert_eq!(fleet.commits(), 1 + 3 * round);
    }
}
