//! Policies that belong to others: what failed for one automation is held for that one.

use super::{Fleet, deployment, until_commits};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, IMAGE_POLICY, KUSTOMIZATION, World};
use serde_json::json;

#[test]
fn a_version_that_failed_here_is_not_held_for_others() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let shared = World::new(cluster, "rollout-shared").labelled("fleet", "rollout-consent");
    let annotations = json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "1s"});
    let Some(fleet) = Fleet::everywhere("rollout-consent", &annotations, &[]) else {
        return;
    };
    // Those of other tests fail at any time: they must not be the half of all.
    for n in 0..40 {
        let name = format!("well-{n}");
        let spec = json!({"interval": "1h", "prune": true, "suspend": true, "sourceRef": {"kind": "GitRepository", "name": "none"}});
        let kind = "Kustomization";
        shared.apply(
            &json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": "rollout-shared"}}),
        );
        let ready = json!({"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        shared.patch_status(KUSTOMIZATION, &name, &json!({"conditions": [ready]}));
    }
    add_choice(&shared, "web", "1.0.0");
    let allow = json!({"metadata": {"annotations": {"bumpwright.dev/allow-automations-from": "rollout-consent"}}});
    shared.patch(IMAGE_POLICY, "web", &allow);
    let file = deployment("rollout-shared", "web", "1.0.0");
    fleet
        .repo
        .commit("main", "shared", &[Change::File("apps/web.yaml", file.as_bytes())]);
    fleet.healthy();
    // A run sees that the automation uses the policy.
    fleet.world.request(AUTOMATION, "all", "one");
    until("the request is handled", || {
        fleet.world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == "one"
    });
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    let choose = |tag: &str| shared.patch_status(IMAGE_POLICY, "web", &json!({"latestRef": {"tag": tag}}));
    choose("1.1.0");
    fleet.rolled_out("False", "put back by commit");
    until_commits(&fleet, 4);
    fleet.healthy();
    fleet.world.ready(AUTOMATION, "all", "True", |_, message| {
        message.contains("ImagePolicy rollout-shared/web holds ghcr.io/o/web:1.1.0")
    });
    let policy = shared.get(IMAGE_POLICY, "web");
    let held = &policy["metadata"]["annotations"]["state.bumpwright.dev/failed-versions"];
    assert!(held.is_null(), "{held}");
    choose("1.2.0");
    fleet.in_git("web", "1.2.0");
    fleet.rolled_out("True", "is healthy");
    assert_eq!(fleet.commits(), 5);
}
